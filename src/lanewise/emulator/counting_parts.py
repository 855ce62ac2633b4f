"""Pieces of the counting functions: constant vectors, sorting, histograms, the intrinsics they use."""

from __future__ import annotations

from collections.abc import Iterable

from lanewise.emulator.ir import WARP

LANES = range(WARP)
ATTRIBUTES = "noinline nounwind"


def declare(returns: str, name: str, *arguments: str) -> tuple[str, str]:
    return name, f"declare {returns} @{name}({', '.join(arguments)})"


INTRINSICS = dict(
    (
        declare("i32", "llvm.ctpop.i32", "i32"),
        declare("i32", "llvm.cttz.i32", "i32", "i1"),
        declare("i32", "llvm.ctlz.i32", "i32", "i1"),
        declare("i64", "llvm.smin.i64", "i64", "i64"),
        declare("i64", "llvm.smax.i64", "i64", "i64"),
        declare("i64", "llvm.umin.i64", "i64", "i64"),
        declare("<32 x i8>", "llvm.umax.v32i8", "<32 x i8>", "<32 x i8>"),
        declare("i64", "llvm.vector.reduce.umin.v32i64", "<32 x i64>"),
        declare("i32", "llvm.vector.reduce.umin.v32i32", "<32 x i32>"),
        declare("i32", "llvm.vector.reduce.umax.v32i32", "<32 x i32>"),
        *(
            declare(f"<32 x {t}>", f"llvm.u{which}.v32{t}", f"<32 x {t}>", f"<32 x {t}>")
            for t in ("i16", "i32")
            for which in ("min", "max")
        ),
    )
)


def indices(values: Iterable[int]) -> str:
    """A constant vector for the mask of a shufflevector."""
    return "<" + ", ".join(f"i32 {value}" for value in values) + ">"


def constant(element: str, values: Iterable[int]) -> str:
    return "<" + ", ".join(f"{element} {value}" for value in values) + ">"


PREVIOUS = f"<32 x i32> {indices(max(lane - 1, 0) for lane in LANES)}"
ZEROS = "<32 x i32> zeroinitializer"


def sort(element: str) -> str:
    """A function that sorts 32 unsigned integers ascending: a bitonic network of 15 exchanges."""
    vector = f"<32 x {element}>"
    lines = [f"define internal {vector} @lw_sort_{element}({vector} %v0) {ATTRIBUTES} {{"]
    step = 0
    for size in (2, 4, 8, 16, 32):
        distance = size // 2
        while distance:
            a, b = f"%v{step}", f"%v{step + 1}"
            partner = indices(lane ^ distance for lane in LANES)
            # Shuffle indices below 32 pick the smaller of the two, from 32 on the larger.
            chosen = indices(lane if (lane & distance == 0) == (lane & size == 0) else lane + WARP for lane in LANES)
            lines += [
                f"  %p{step} = shufflevector {vector} {a}, {vector} {a}, <32 x i32> {partner}",
                f"  %a{step} = call {vector} @llvm.umin.v32{element}({vector} {a}, {vector} %p{step})",
                f"  %b{step} = call {vector} @llvm.umax.v32{element}({vector} {a}, {vector} %p{step})",
                f"  {b} = shufflevector {vector} %a{step}, {vector} %b{step}, <32 x i32> {chosen}",
            ]
            step += 1
            distance //= 2
    return "\n".join([*lines, f"  ret {vector} %v{step}", "}"])


# Row b is the unit vector of bank b; row 32 is zero, for a lane that does not count.
UNIT_ROWS = ", ".join(
    "[32 x i8] [" + ", ".join(f"i8 {int(column == row)}" for column in LANES) + "]" for row in range(WARP + 1)
)


def histogram() -> str:
    """How often each of 32 slots occurs among 32 bytes; a byte of 32 does not count."""
    lines = [
        f"define internal <32 x i8> @lw_histogram(<32 x i8> %slots) {ATTRIBUTES} {{",
        "  %box = alloca [32 x i8], align 32",
        "  store <32 x i8> %slots, ptr %box, align 32",
    ]
    sums: list[str] = []
    for lane in LANES:
        lines += [
            f"  %p{lane} = getelementptr i8, ptr %box, i64 {lane}",
            f"  %s{lane} = load i8, ptr %p{lane}, align 1",
            f"  %i{lane} = zext i8 %s{lane} to i64",
            f"  %q{lane} = getelementptr [33 x [32 x i8]], ptr @lw_unit_rows, i64 0, i64 %i{lane}",
            f"  %r{lane} = load <32 x i8>, ptr %q{lane}, align 32",
        ]
        sums.append(f"%r{lane}")
        if lane >= 4:  # four running sums, so that additions do not wait for each other
            lines.append(f"  %t{lane} = add <32 x i8> {sums[lane - 4]}, %r{lane}")
            sums[lane] = f"%t{lane}"
    lines += [
        f"  %x = add <32 x i8> {sums[28]}, {sums[29]}",
        f"  %y = add <32 x i8> {sums[30]}, {sums[31]}",
        "  %z = add <32 x i8> %x, %y",
        "  ret <32 x i8> %z",
        "}",
    ]
    return "\n".join(lines)


def octet_maxima(source: str) -> str:
    """Lines that leave in %q0..%q3 (i32) the largest byte of each eight of a <32 x i8>."""
    lines = [f"  %m0 = bitcast <32 x i8> {source} to <4 x i64>"]
    for step, shift in enumerate((32, 16, 8)):
        lines += [
            f"  %sh{step} = lshr <4 x i64> %m{step}, splat (i64 {shift})",
            f"  %ba{step} = bitcast <4 x i64> %m{step} to <32 x i8>",
            f"  %bb{step} = bitcast <4 x i64> %sh{step} to <32 x i8>",
            f"  %bm{step} = call <32 x i8> @llvm.umax.v32i8(<32 x i8> %ba{step}, <32 x i8> %bb{step})",
            f"  %m{step + 1} = bitcast <32 x i8> %bm{step} to <4 x i64>",
        ]
    for octet in range(4):
        lines += [
            f"  %e{octet} = extractelement <4 x i64> %m3, i32 {octet}",
            f"  %l{octet} = and i64 %e{octet}, 255",
            f"  %q{octet} = trunc i64 %l{octet} to i32",
        ]
    return "\n".join(lines)


def octets_present(mask: str) -> str:
    """Lines that leave in %o0..%o3 (i1) whether each eight lanes of a mask has one that takes part."""
    return "\n".join(
        f"  %om{octet} = and i32 {mask}, {255 << 8 * octet if octet < 3 else -(1 << 24)}\n"
        f"  %o{octet} = icmp ne i32 %om{octet}, 0"
        for octet in range(4)
    )
