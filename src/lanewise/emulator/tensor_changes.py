"""Changes of tensor maps in memory, in LLVM IR: what tensormap.replace and tensormap.cp_fenceproxy do."""

from __future__ import annotations

from lanewise.emulator.structured import Code
from lanewise.emulator.tensor_copies import checksum
from lanewise.emulator.tensor_maps import BYTES, Layout


def definitions() -> str:
    """The functions' text."""
    return _put() + _copy()


def _lanes(c: Code, *names: str) -> list[str]:
    """Vectors of i64 in memory, to be read lane by lane."""
    result = []
    for name in names:
        place = c.array(32)
        c.line(f"store <32 x i64> {name}, ptr {place}, align 16")
        result.append(place)
    return result


def _pointer(c: Code, place: str, lane: str) -> str:
    return c.let(f"inttoptr i64 {c.field(place, c.mul(lane, 8))} to ptr")


def _put() -> str:
    c = Code()
    maps, values = _lanes(c, "%maps", "%values")
    mask = c.let("zext i32 %m to i64")
    with c.loop(32) as lane, c.when(c.test("ne", c.op("and", mask, c.op("shl", "1", lane)), 0)):
        at = _pointer(c, maps, lane)
        with c.loop("%size") as i:
            c.move_byte(c.at(values, c.add(c.mul(lane, 8), i)), c.at(at, c.add("%offset", i)))
        total = c.let(f"trunc i64 {checksum(c, at)} to i32")
        c.line(f"store i32 {total}, ptr {c.at(at, Layout.CHECK)}, align 1")
    c.line("ret void")
    return "; %size bytes of each lane's value go to %offset in its map, which stays a valid one.\n" + c.text(
        "define internal void @lw_tensor_map_put(<32 x i64> %maps, <32 x i64> %values, i64 %offset, i64 %size, i32 %m) "
        "noinline nounwind"
    )


def _copy() -> str:
    c = Code()
    targets, sources = _lanes(c, "%to", "%from")
    mask = c.let("zext i32 %m to i64")
    with c.loop(32) as lane, c.when(c.test("ne", c.op("and", mask, c.op("shl", "1", lane)), 0)):
        to, source = _pointer(c, targets, lane), _pointer(c, sources, lane)
        c.line(f"call void @llvm.memmove.p0.p0.i64(ptr {to}, ptr {source}, i64 {BYTES}, i1 false)")
    c.line("ret void")
    return (
        "; Each lane's map is copied.\n"
        + c.text("define internal void @lw_tensor_map_copy(<32 x i64> %to, <32 x i64> %from, i32 %m) noinline nounwind")
        + "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)\n"
    )
