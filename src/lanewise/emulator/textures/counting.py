"""Sectors of texture and surface requests. The texture unit serves a warp in groups of neighbouring lanes, and a sector
that several lanes of one group read is fetched once for the group (measured: docs/how-it-counts.md)."""

from __future__ import annotations

from lanewise.emulator.ir import WARP, Emitter, Value
from lanewise.emulator.textures.texels import Texel
from lanewise.emulator.textures.writing import WIDE, Function

QUAD = 4  # lanes of a group that reads with float coordinates
PAIR = 2  # when eight texels are filtered
OCTET = 8  # surfaces, and linear memory of up to 8 bytes a texel


def sectors(out: Emitter, group: int, texels: int) -> str:
    """Add the function that counts the sectors of `texels` texels a lane; returns its name.

    `i32 @name(<32 x i64> %a0, i32 %m0, ...)`: addresses and the lanes that have one, for each texel.
    """
    name = f"lw_group_sectors_{group}_{texels}"
    if name not in out.definitions:
        out.define(name, _sectors(out, name, group, texels))
    return name


def _rotated(f: Function, value: Value, group: int, by: int) -> Value:
    """Each lane gets the value of the lane `by` further on in its group."""
    lanes = [lane - lane % group + (lane + by) % group for lane in range(WARP)]
    indices = ", ".join(f"i32 {lane}" for lane in lanes)
    kind = f.e.shape(value.type)
    text = f.out.let(f"shufflevector {kind} {value.text}, {kind} poison, <32 x i32> <{indices}>")
    return Value(text, value.type)


def _sectors(emitter: Emitter, name: str, group: int, count: int) -> str:
    f = Function.begin(emitter)
    e, s, out = f.e, f.s, f.out
    found = []
    for k in range(count):
        lanes = Value(out.let(f"bitcast i32 %m{k} to <32 x i1>"), "i1")
        sector = e.op("lshr", Value(f"%a{k}", "i64"), e.const("i64", 5))
        apart = ", ".join(f"i64 {-1 - lane - WARP * k}" for lane in range(WARP))  # of lanes that read nothing
        found.append((lanes, e.select(lanes, sector, Value(f"<{apart}>", "i64"))))
    total = s.const("i32", 0)
    for k, (lanes, mine) in enumerate(found):
        seen = e.const("i1", False)
        for earlier in range(k + 1):
            for by in range(group):
                if earlier == k and by == 0:
                    continue
                equal = e.icmp("eq", mine, _rotated(f, found[earlier][1], group, by))
                if earlier == k:  # only what lanes before this one read
                    before = ["true" if (lane + by) % group < lane % group else "false" for lane in range(WARP)]
                    constant = Value(f"<{', '.join(f'i1 {word}' for word in before)}>", "i1")
                    equal = e.op("and", equal, constant)
                seen = e.op("or", seen, equal)
        new = f.mask(e.op("and", lanes, e.not_(seen)))
        total = s.op("add", total, s.intrinsic("ctpop", Value(new, "i32")))
    out.line(f"ret i32 {total.text}")
    arguments = ", ".join(f"{WIDE} %a{k}, i32 %m{k}" for k in range(count))
    return f.finish(f"i32 @{name}({arguments})")


def least(out: Emitter, group: int) -> str:
    """Add the function that says how few sectors would do: `i32 @name(i32 %m, i32 %bytes)`, for what each lane of `%m`
    reads or writes."""
    name = f"lw_group_least_{group}"
    if name not in out.definitions:
        f = Function.begin(out)
        s = f.s
        total = s.const("i32", 0)
        for first in range(0, WARP, group):
            lanes = s.op("and", Value("%m", "i32"), s.const("i32", ((1 << group) - 1) << first))
            moved = s.op("mul", s.intrinsic("ctpop", lanes), Value("%bytes", "i32"))
            total = s.op("add", total, s.op("lshr", s.op("add", moved, s.const("i32", 31)), s.const("i32", 5)))
        f.out.line(f"ret i32 {total.text}")
        out.define(name, f.finish(f"i32 @{name}(i32 %m, i32 %bytes)"))
    return name


def tell(f: Function, texels: list[Texel]) -> None:
    """Tell the trace of lines each texel (`emulator.trace`), where `%trace` is not -1."""
    out = f.out
    told, join = out.fresh_label("told"), out.fresh_label("counted")
    out.line(f"br i1 {out.let('icmp sge i32 %trace, 0')}, label %{told}, label %{join}")
    out.label(told)
    for texel in texels:
        out.line(f"call void @lw_trace(ptr %x, ptr %w, {WIDE} {texel.address.text}, i32 {texel.mask}, i32 %trace)")
    out.line(f"br label %{join}")
    out.label(join)


def of(f: Function, texels: list[Texel], group: int) -> str:
    """Emit the count of a request's sectors."""
    function = sectors(f.out, group, len(texels))
    arguments = ", ".join(f"{WIDE} {texel.address.text}, i32 {texel.mask}" for texel in texels)
    return f.out.let(f"call i32 @{function}({arguments})")
