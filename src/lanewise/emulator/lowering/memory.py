"""Loads, stores and address conversions (PTX ISA 9.7.9).

An access takes the cheapest of three ways: one address for all lanes; a run of neighbouring addresses, checked at both
ends; or a vector of addresses through the helper functions of `access.py`. The first two count by closed form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator import quantity as q
from lanewise.emulator.ir import Value
from lanewise.emulator.kinds import UNIFORM, VARYING, Tag, wrap
from lanewise.emulator.layout import (
    CLUSTER_WINDOW_BYTES,
    LOCAL_WINDOW,
    SHARED_WINDOW,
    SITE_SECTORS,
    WINDOW_BYTES,
    Warp,
)
from lanewise.emulator.lowering import events, lane_pattern, shared, slow
from lanewise.emulator.lowering.recount import recount
from lanewise.emulator.lowering.tell import tell
from lanewise.emulator.quantity import Quantity
from lanewise.emulator.unit import SiteInfo
from lanewise.ptx.syntax import (
    TYPE_BITS,
    Address,
    Instruction,
    Operand,
    Symbol,
    VectorOperand,
)
from lanewise.records import AccessKind, Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator

_SPACES = {
    "global": Space.GLOBAL,
    "shared": Space.SHARED,
    "local": Space.LOCAL,
    "const": Space.CONST,
    "param": Space.PARAM,
}
_PATTERN_BROADCAST, _PATTERN_CONTIGUOUS = 1 << 1, 1 << 2
_ORDERED = ("volatile", "relaxed", "acquire", "release", "mmio")


def memory_offset(address: Operand) -> int:
    """The constant of `[base+constant]`."""
    return address.offset if isinstance(address, Address) else 0


def space_of(ins: Instruction) -> Space:
    """The state space an instruction names; none is generic."""
    for modifier in ins.modifiers:
        if (space := _SPACES.get(modifier.split("::")[0])) is not None:
            return space
    return Space.GENERIC


def reaches_cluster(ins: Instruction) -> bool:
    """Whether an access by 32-bit address may go to another block of the cluster."""
    return ins.has("shared::cluster")


def vector_length(ins: Instruction) -> int:
    return next((int(m[1:]) for m in ins.modifiers if m in ("v2", "v4", "v8")), 1)


def components(operand: Operand) -> tuple[Operand, ...]:
    return operand.elements if isinstance(operand, VectorOperand) else (operand,)


def array_name(t: FunctionTranslator, address: Operand) -> str | None:
    """The name of the variable an address starts from, where it is written there."""
    if isinstance(address, Address) and isinstance(address.base, Symbol):
        return address.base.name
    return None


def address_of(t: FunctionTranslator, operand: Operand, wide: bool) -> Quantity:
    """An address operand with its offset, 64 bits wide, or 32 for offsets in shared and local memory."""
    assert isinstance(operand, Address), operand
    ptx_type = "u64" if wide else "u32"
    element = "i64" if wide else "i32"
    if operand.base is None:
        return q.uniform(str(wrap(operand.offset, 64 if wide else 32)), element)
    if isinstance(operand.base, Symbol):
        return t.operand(Symbol(operand.base.name, operand.base.offset + operand.offset), ptx_type)
    base = t.operand(operand.base, ptx_type)
    if operand.offset == 0:
        return base
    offset = q.uniform(str(wrap(operand.offset, 64 if wide else 32)), element)
    if base.tag == Tag.UNIFORM:
        return q.uniform(t.out.let(f"add {element} {base.text}, {offset.text}"), element)
    if base.tag == Tag.VARYING:
        splat = q.splat(t.out, element, offset.text)
        return q.varying(t.out.let(f"add <32 x {element}> {base.text}, {splat}"), element)
    moved = q.add(t.out, base, offset)
    assert moved is not None
    return moved


def load(t: FunctionTranslator, ins: Instruction) -> None:
    """ld, ld.global.nc, ldu."""
    space = space_of(ins)
    element = f"i{TYPE_BITS[ins.type]}"
    targets = components(ins.operands[0])
    count = len(targets)
    wide = space in (Space.GLOBAL, Space.CONST, Space.GENERIC)
    address = address_of(t, ins.operands[1], wide)
    site = t.new_site(ins, space, AccessKind.LOAD, TYPE_BITS[ins.type] * count, array_name(t, ins.operands[1]))
    if ins.has(*_ORDERED):
        t.out.line('fence syncscope("singlethread") seq_cst')
    events.access(t, ins, site, space, address)
    events.loaded(t, ins, site, address, targets)
    recount(t, ins, site, address)
    tell(t, ins, site, address)
    group = t.groups.get(id(ins))
    if group is not None:
        values = shared.load(t, group, address, memory_offset(ins.operands[1]), element, count, site)
    else:
        values = _values(t, ins, space, address, element, count, site)
    if ins.has("acquire", "volatile"):
        t.out.line('fence syncscope("singlethread") seq_cst')
    signed = ins.type.startswith("s")
    for target, value in zip(targets, values, strict=True):
        t.write(target, _as_target(t, target, value), ins, signed=signed)


def _as_target(t: FunctionTranslator, target: Operand, value: Quantity) -> Quantity:
    """A vector for a register that is one scalar (a guarded load from one address): the first lane's value."""
    kind = t.analysis.kind(target)
    if value.tag == Tag.VARYING and kind is not None and kind.tag == Tag.UNIFORM:
        lane = t.edge("first")
        return q.uniform(t.out.let(f"extractelement <32 x {value.type}> {value.text}, i32 {lane}"), value.type)
    return value


def _values(
    t: FunctionTranslator, ins: Instruction, space: Space, address: Quantity, element: str, count: int, site: SiteInfo
) -> list[Quantity]:
    bytes_ = int(element[1:]) // 8
    if ins.guard is None and space in (Space.GLOBAL, Space.CONST, Space.SHARED) and not reaches_cluster(ins):
        if address.tag == Tag.UNIFORM:
            return _load_uniform(t, space, address, element, count, site)
        made = lane_pattern.plan(address)
        if _is_run(address, made, bytes_ * count):
            return _load_run(t, space, address, element, count, site)
        if made is not None and lane_pattern.usable(made, space, bytes_ * count):
            return _load_plan(t, space, address, made, element, count, site)
    host, mask = touch(t, ins, space, address, bytes_ * count, site, is_load=True)
    return _gather(t, host, mask, element, count)


def _is_run(address: Quantity, made: lane_pattern.Plan | None, bytes_: int) -> bool:
    """Whether lane after lane accesses the next `bytes_`, through one index."""
    if made is None or made.pattern or made.relative != tuple(bytes_ * lane for lane in range(32)):
        return False
    return address.tag == Tag.AFFINE or len(address.parts) == 1


def _load_plan(
    t: FunctionTranslator,
    space: Space,
    address: Quantity,
    made: lane_pattern.Plan,
    element: str,
    count: int,
    site: SiteInfo,
) -> list[Quantity]:
    out = t.out
    bytes_ = int(element[1:]) // 8 * count
    way = lane_pattern.begin(t, space, address, made, bytes_, site, AccessKind.LOAD)
    fast = lane_pattern.load(t, space, made, way.bases, element, count)
    fast_end = slow.end_block(t, way.join)
    out.label(way.slow)
    slow_values = slow.load(t, space, address, element, count, site)
    slow_end = slow.end_block(t, way.join)
    out.label(way.join)
    return slow.joined(t, element, fast, fast_end, slow_values, slow_end)


def _gather(t: FunctionTranslator, host: str, mask: str, element: str, count: int) -> list[Quantity]:
    name = f"lw_gather_{element}"
    result = []
    for part in range(count):
        at = host if part == 0 else t.out.let(f"add <32 x i64> {host}, splat (i64 {part * int(element[1:]) // 8})")
        result.append(q.varying(t.out.let(f"call <32 x {element}> @{name}(<32 x i64> {at}, i32 {mask})"), element))
    return result


def touch(
    t: FunctionTranslator,
    ins: Instruction,
    space: Space,
    address: Quantity,
    bytes_: int,
    site: SiteInfo,
    *,
    is_load: bool,
    mask: str | None = None,
) -> tuple[str, str]:
    """Check and count an access lane by lane; host addresses (<32 x i64>) and the lanes that are on (i32)."""
    out = t.out
    mask = t.mask(ins) if mask is None else mask
    vector = t.vector(address)
    counters, cache = t.site_pointers(site)
    load_flag = "true" if is_load else "false"
    head = f"ptr %x, ptr %w, ptr {counters}"
    tail = f"i32 {mask}, i32 {bytes_}, i32 {site.index}"
    if space in (Space.GLOBAL, Space.CONST):
        call = f"@lw_touch_global(ptr %x, ptr %w, ptr {counters}, ptr {cache}, <32 x i64> {vector}, {tail})"
    elif space == Space.SHARED:
        which = "cluster" if reaches_cluster(ins) else "shared"
        call = f"@lw_touch_{which}({head}, ptr %shared, <32 x i32> {vector}, {tail}, i1 {load_flag})"
    elif space == Space.LOCAL:
        call = f"@lw_touch_local(ptr %x, ptr %w, ptr {counters}, <32 x i32> {vector}, {tail})"
    else:
        call = (
            f"@lw_touch_generic(ptr %x, ptr %w, ptr {counters}, ptr {cache}, ptr %shared, <32 x i64> {vector}, {tail}, "
            f"i1 {load_flag})"
        )
    return out.let(f"call <32 x i64> {call}"), mask


# ---------------------------------------------------------------------- one address
def _check_uniform(t: FunctionTranslator, space: Space, address: Quantity, bytes_: int, site: SiteInfo) -> str:
    """Check the one address of all lanes; returns a pointer."""
    out = t.out
    asks, good, bad, told = (out.fresh_label(name) for name in ("asks", "ok", "slow", "told"))
    out.line(f"br label %{asks}")
    out.label(asks)
    if space == Space.SHARED:
        wide = out.let(f"zext i32 {address.text} to i64")
        inside = out.let(f"icmp ule i64 {out.let(f'add i64 {wide}, {bytes_}')}, %limit")
        aligned = out.let(f"icmp eq i64 {out.let(f'and i64 {wide}, {bytes_ - 1}')}, 0")
        pointer = out.let(f"getelementptr i8, ptr %shared, i64 {wide}")
        out.line(f"br i1 {out.let(f'and i1 {inside}, {aligned}')}, label %{good}, label %{bad}, !prof !2")
        out.label(bad)
        counters, _ = t.site_pointers(site)
        hosts = out.let(
            f"call <32 x i64> @lw_touch_shared(ptr %x, ptr %w, ptr {counters}, ptr %shared, "
            f"<32 x i32> {t.vector(address)}, i32 {t.active}, i32 {bytes_}, i32 {site.index}, i1 true)"
        )
        other = out.let(f"extractelement <32 x i64> {hosts}, i32 {t.edge_here('first')}")
    else:
        _, cache = t.site_pointers(site)
        low = out.let(f"load i64, ptr {cache}")
        starts = out.let(f"load i64, ptr {out.let(f'getelementptr i64, ptr {cache}, i64 1')}")
        inside = out.let(f"icmp ult i64 {out.let(f'sub i64 {address.text}, {low}')}, {starts}")
        if bytes_ > 1:
            aligned = out.let(f"icmp eq i64 {out.let(f'and i64 {address.text}, {bytes_ - 1}')}, 0")
            inside = out.let(f"and i1 {inside}, {aligned}")
        pointer = out.let(f"inttoptr i64 {address.text} to ptr")
        out.line(f"br i1 {inside}, label %{good}, label %{bad}, !prof !2")
        out.label(bad)
        other = out.let(
            f"call i64 @lw_check_one(ptr %x, ptr %w, ptr {cache}, i64 {address.text}, i32 {t.active}, i32 {bytes_}, "
            f"i32 {site.index})"
        )
    other = out.let(f"inttoptr i64 {other} to ptr")
    out.line(f"br label %{told}")
    out.label(told)
    out.line(f"br label %{good}")
    out.label(good)
    return out.let(f"phi ptr [ {pointer}, %{asks} ], [ {other}, %{told} ]")


def uniform_cost(t: FunctionTranslator, space: Space, address: Quantity, bytes_: int, site: SiteInfo) -> None:
    """What a broadcast costs: one sector; one wavefront up to 8 bytes a lane, two for 16 (hardware/banks.py)."""
    site.on_from_block = True
    site.static_pattern |= _PATTERN_BROADCAST
    if space != Space.SHARED:
        site.static_sectors = 1
    elif bytes_ <= 8:
        site.static_wavefronts = site.static_wavefronts_ideal = 1
    else:
        site.static_wavefronts = site.static_wavefronts_ideal = 2
        slow.correct_partial(t, address, bytes_, site)


def _load_uniform(
    t: FunctionTranslator, space: Space, address: Quantity, element: str, count: int, site: SiteInfo
) -> list[Quantity]:
    bytes_ = int(element[1:]) // 8
    pointer = _check_uniform(t, space, address, bytes_ * count, site)
    uniform_cost(t, space, address, bytes_ * count, site)
    values = []
    for part in range(count):
        at = pointer if part == 0 else t.out.let(f"getelementptr i8, ptr {pointer}, i64 {part * bytes_}")
        values.append(q.uniform(t.out.let(f"load {element}, ptr {at}, align {bytes_}"), element))
    return values


# ---------------------------------------------------------------------- a run of neighbouring addresses
def _run(
    t: FunctionTranslator, space: Space, address: Quantity, bytes_: int, site: SiteInfo, *, need_full: bool
) -> tuple[str, str, str]:
    """Branch on whether the lanes' addresses are the run they seem to be and in bounds: (pointer of lane 0, label of
    the slow way, label of the join). The fast way goes on in place and must end at the join."""
    out = t.out
    first, last = t.edge("first"), t.edge("last")
    t.edge("count64")  # here, where it holds for all that follows
    fast, slow, join = out.fresh_label("run"), out.fresh_label("slow"), out.fresh_label("join")
    shape_ok = t.edge("full") if need_full else t.edge("whole")
    if address.tag == Tag.AFFINE:
        stride, index, signed = address.kind.offsets[1], address.text, False
    else:
        stride, index, signed = address.kind.terms[0].offsets[1], address.parts[0].base, address.kind.terms[0].signed
    at_first = out.let(f"add i32 {index}, {out.let(f'mul i32 {first}, {stride}')}")
    at_last = out.let(f"add i32 {index}, {out.let(f'mul i32 {last}, {stride}')}")
    extend = "sext" if signed else "zext"
    wide_first = out.let(f"{extend} i32 {at_first} to i64")
    wide_last = out.let(f"{extend} i32 {at_last} to i64")
    lanes = out.let(f"zext i32 {out.let(f'sub i32 {last}, {first}')} to i64")
    span = out.let(f"mul i64 {lanes}, {stride}")
    ok = out.let(f"icmp eq i64 {out.let(f'sub i64 {wide_last}, {wide_first}')}, {span}")
    ok = out.let(f"and i1 {ok}, {shape_ok}")
    if address.tag == Tag.EXTENDED:
        wide_first, wide_last = (
            q.fold(out, "add", "i64", address.outer, q.fold(out, "mul", "i64", w, address.parts[0].scale))
            for w in (wide_first, wide_last)
        )
    if space == Space.SHARED:
        inside = out.let(f"icmp ule i64 {out.let(f'add i64 {wide_last}, {bytes_}')}, %limit")
    else:
        _, cache = t.site_pointers(site)
        low = out.let(f"load i64, ptr {cache}")
        starts = out.let(f"load i64, ptr {out.let(f'getelementptr i64, ptr {cache}, i64 1')}")
        inside = out.let(f"icmp ult i64 {out.let(f'sub i64 {wide_first}, {low}')}, {starts}")
        inside_last = out.let(f"icmp ult i64 {out.let(f'sub i64 {wide_last}, {low}')}, {starts}")
        inside = out.let(f"and i1 {inside}, {inside_last}")
    ok = out.let(f"and i1 {ok}, {inside}")
    if bytes_ > 1:
        aligned = out.let(f"icmp eq i64 {out.let(f'and i64 {wide_first}, {bytes_ - 1}')}, 0")
        ok = out.let(f"and i1 {ok}, {aligned}")
    out.line(f"br i1 {ok}, label %{fast}, label %{slow}, !prof !2")
    out.label(fast)
    back = out.let(f"mul i64 {out.let(f'zext i32 {first} to i64')}, {bytes_}")
    base = out.let(f"sub i64 {wide_first}, {back}")
    if space == Space.SHARED:
        pointer = out.let(f"getelementptr i8, ptr %shared, i64 {base}")
    else:
        pointer = out.let(f"inttoptr i64 {base} to ptr")
        _count_run(t, wide_first, wide_last, bytes_, site)
    site.on_from_block = True
    site.static_pattern |= _PATTERN_CONTIGUOUS
    if space == Space.SHARED:
        site.static_wavefronts = site.static_wavefronts_ideal = max(1, bytes_ // 4)
    return pointer, slow, join


def _count_run(t: FunctionTranslator, first: str, last: str, bytes_: int, site: SiteInfo) -> None:
    """Sectors of a run: from the first byte's to the last byte's; ideal: as many as its bytes fill."""
    out = t.out
    counters, _ = t.site_pointers(site)
    low = out.let(f"lshr i64 {first}, 5")
    high = out.let(f"lshr i64 {out.let(f'add i64 {last}, {bytes_ - 1}')}, 5")
    sectors = out.let(f"add i64 {out.let(f'sub i64 {high}, {low}')}, 1")
    filled = out.let(f"mul i64 {t.edge('count64')}, {bytes_}")
    ideal = out.let(f"lshr i64 {out.let(f'add i64 {filled}, 31')}, 5")
    out.declare("declare i64 @llvm.umin.i64(i64, i64)")
    ideal = out.let(f"call i64 @llvm.umin.i64(i64 {ideal}, i64 {sectors})")
    pair = out.let(f"insertelement <2 x i64> poison, i64 {sectors}, i32 0")
    pair = out.let(f"insertelement <2 x i64> {pair}, i64 {ideal}, i32 1")
    pointer = out.let(f"getelementptr i64, ptr {counters}, i64 {SITE_SECTORS}")
    old = out.let(f"load <2 x i64>, ptr {pointer}, align 8")
    out.line(f"store <2 x i64> {out.let(f'add <2 x i64> {old}, {pair}')}, ptr {pointer}, align 8")


def _load_run(
    t: FunctionTranslator, space: Space, address: Quantity, element: str, count: int, site: SiteInfo
) -> list[Quantity]:
    out = t.out
    bytes_ = int(element[1:]) // 8
    need_full = count > 1 or (space == Space.SHARED and bytes_ > 4)
    pointer, slow_way, join = _run(t, space, address, bytes_ * count, site, need_full=need_full)
    if count == 1:
        fast = [slow.masked_load(t, pointer, element)]
    else:
        whole = out.let(f"load <{32 * count} x {element}>, ptr {pointer}, align {bytes_}")
        fast = []
        for part in range(count):
            picks = ", ".join(f"i32 {lane * count + part}" for lane in range(32))
            kind = f"<{32 * count} x {element}>"
            fast.append(out.let(f"shufflevector {kind} {whole}, {kind} poison, <32 x i32> <{picks}>"))
    fast_end = slow.end_block(t, join)
    out.label(slow_way)
    slow_values = slow.load(t, space, address, element, count, site)
    slow_end = slow.end_block(t, join)
    out.label(join)
    return slow.joined(t, element, fast, fast_end, slow_values, slow_end)


# ---------------------------------------------------------------------- stores
def store(t: FunctionTranslator, ins: Instruction) -> None:
    """st."""
    space = space_of(ins)
    element = f"i{TYPE_BITS[ins.type]}"
    sources = [t.operand(source, ins.type) for source in components(ins.operands[1])]
    count = len(sources)
    wide = space in (Space.GLOBAL, Space.CONST, Space.GENERIC)
    address = address_of(t, ins.operands[0], wide)
    site = t.new_site(ins, space, AccessKind.STORE, TYPE_BITS[ins.type] * count, array_name(t, ins.operands[0]))
    ordered = ins.has(*_ORDERED)
    if ordered:
        t.out.line('fence syncscope("singlethread") seq_cst')
    bytes_ = int(element[1:]) // 8
    events.access(t, ins, site, space, address, sources)
    events.stored(t, ins, site, address, components(ins.operands[1]))
    recount(t, ins, site, address)
    tell(t, ins, site, address)
    group = t.groups.get(id(ins))
    planned = ins.guard is None and space in (Space.GLOBAL, Space.SHARED) and not reaches_cluster(ins)
    made = lane_pattern.plan(address) if planned else None
    if group is not None:
        shared.store(t, group, address, memory_offset(ins.operands[0]), element, sources, site)
    elif _is_run(address, made, bytes_ * count):
        _store_run(t, space, address, element, sources, site)
    elif made is not None and lane_pattern.usable(made, space, bytes_ * count):
        way = lane_pattern.begin(t, space, address, made, bytes_ * count, site, AccessKind.STORE)
        lane_pattern.store(t, space, made, way.bases, element, [t.vector(source) for source in sources])
        t.out.line(f"br label %{way.join}")
        t.out.label(way.slow)
        slow.store(t, space, address, element, [t.vector(source) for source in sources], site)
        t.out.line(f"br label %{way.join}")
        t.out.label(way.join)
    else:
        host, mask = touch(t, ins, space, address, bytes_ * count, site, is_load=False)
        _scatter(t, host, mask, element, sources)
    if ordered:
        t.out.line('fence syncscope("singlethread") seq_cst')


def _scatter(t: FunctionTranslator, host: str, mask: str, element: str, sources: list[Quantity]) -> None:
    name = f"lw_scatter_{element}"
    for part, source in enumerate(sources):
        at = host if part == 0 else t.out.let(f"add <32 x i64> {host}, splat (i64 {part * int(element[1:]) // 8})")
        t.out.line(f"call void @{name}(<32 x i64> {at}, <32 x {element}> {t.vector(source)}, i32 {mask})")


def _store_run(
    t: FunctionTranslator, space: Space, address: Quantity, element: str, sources: list[Quantity], site: SiteInfo
) -> None:
    out = t.out
    count = len(sources)
    bytes_ = int(element[1:]) // 8
    vectors = [t.vector(source) for source in sources]
    need_full = count > 1 or (space == Space.SHARED and bytes_ > 4)
    pointer, slow_way, join = _run(t, space, address, bytes_ * count, site, need_full=need_full)
    if count == 1:
        slow.masked_store(t, pointer, element, vectors[0])
    else:
        whole, lanes = vectors[0], 32
        parts = vectors
        while len(parts) > 1:  # join pairs end to end, then interleave at once
            kind = f"<{lanes} x {element}>"
            order = ", ".join(f"i32 {i}" for i in range(2 * lanes))
            parts = [
                out.let(f"shufflevector {kind} {a}, {kind} {b}, <{2 * lanes} x i32> <{order}>")
                for a, b in zip(parts[::2], parts[1::2], strict=True)
            ]
            lanes *= 2
        whole = parts[0]
        order = ", ".join(f"i32 {part * 32 + lane}" for lane in range(32) for part in range(count))
        kind = f"<{lanes} x {element}>"
        mixed = out.let(f"shufflevector {kind} {whole}, {kind} poison, <{lanes} x i32> <{order}>")
        out.line(f"store {kind} {mixed}, ptr {pointer}, align {bytes_}")
    out.line(f"br label %{join}")
    out.label(slow_way)
    slow.store(t, space, address, element, vectors, site)
    out.line(f"br label %{join}")
    out.label(join)


# ---------------------------------------------------------------------- parameters
def _param_place(t: FunctionTranslator, operand: Operand) -> Quantity | None:
    """The local-memory offset of a parameter variable of a device function or a call; None: a kernel's parameter."""
    assert isinstance(operand, Address)
    if isinstance(operand.base, Symbol) and operand.base.name in t.unit.frames[id(t.function)].offsets:
        return address_of(t, operand, wide=False)
    return None


def load_param(t: FunctionTranslator, ins: Instruction) -> None:
    """ld.param: of the kernel, from the launch's buffer; of device functions and calls, from the frame."""
    element = f"i{TYPE_BITS[ins.type]}"
    targets = components(ins.operands[0])
    bytes_ = int(element[1:]) // 8
    place = _param_place(t, ins.operands[1])
    signed = ins.type.startswith("s")
    if place is None and not t.function.is_kernel:  # by address: a parameter of a device function lies in local memory
        site = t.new_site(ins, Space.LOCAL, AccessKind.LOAD, 8 * bytes_ * len(targets))
        address = address_of(t, ins.operands[1], wide=False)
        events.access(t, ins, site, Space.LOCAL, address)
        host, mask = touch(t, ins, Space.LOCAL, address, bytes_ * len(targets), site, is_load=True)
        for target, value in zip(targets, _gather(t, host, mask, element, len(targets)), strict=True):
            t.write(target, value, ins, signed=signed)
        return
    if place is None:
        address = address_of(t, ins.operands[1], wide=True)
        if not isinstance(ins.operands[1].base, Symbol):  # type: ignore[union-attr]
            t.out.line(
                f"call i32 @lw_check_each(ptr %x, ptr %w, ptr %scratch, <32 x i64> {t.vector(address)}, "
                f"i32 {t.mask(ins)}, i32 {bytes_ * len(targets)}, i32 {t.fault_site()})"
            )
        for part, target in enumerate(targets):
            if address.tag == Tag.UNIFORM:
                pointer = t.out.let(f"inttoptr i64 {address.text} to ptr")
                at = t.out.let(f"getelementptr i8, ptr {pointer}, i64 {part * bytes_}")
                value = q.uniform(t.out.let(f"load {element}, ptr {at}, align 1"), element)
            else:
                value = _gather(t, t.vector(address), t.mask(ins), element, part + 1)[part]
            t.write(target, value, ins, signed=signed)
        return
    host = _local_host(t, place)
    for target, value in zip(targets, _gather(t, host, t.mask(ins), element, len(targets)), strict=True):
        t.write(target, value, ins, signed=signed)


def _local_host(t: FunctionTranslator, place: Quantity) -> str:
    local = t.load_field(Warp.LOCAL, "ptr")
    return t.out.let(f"call <32 x i64> @lw_local_address(ptr {local}, <32 x i32> {t.vector(place)})")


def store_param(t: FunctionTranslator, ins: Instruction) -> None:
    """st.param: arguments of a call, results of a device function."""
    element = f"i{TYPE_BITS[ins.type]}"
    sources = [t.operand(source, ins.type) for source in components(ins.operands[1])]
    place = _param_place(t, ins.operands[0])
    assert place is not None
    _scatter(t, _local_host(t, place), t.mask(ins), element, sources)


def copy_param(t: FunctionTranslator, source: str, target: str, size: int, mask: str) -> None:
    """Copy a parameter of `size` bytes between two places (i32 offsets) in local memory, for the lanes of `mask`."""
    done = 0
    while done < size:
        step = next(n for n in (8, 4, 2, 1) if n <= size - done)
        element = f"i{8 * step}"
        from_, to = (q.uniform(t.out.let(f"add i32 {place}, {done}"), "i32") for place in (source, target))
        value = _gather(t, _local_host(t, from_), mask, element, 1)
        _scatter(t, _local_host(t, to), mask, element, value)
        done += step


# ---------------------------------------------------------------------- addresses
def cvta(t: FunctionTranslator, ins: Instruction) -> None:
    """cvta and cvta.to: between generic addresses and those of a space. Global, constant and kernel parameter addresses
    are the same in both."""
    space = space_of(ins)
    wide = ins.type == "u64"
    source = ins.operands[1]
    window = {Space.SHARED: SHARED_WINDOW, Space.LOCAL: LOCAL_WINDOW}.get(space, 0)
    value = t.operand(source, ins.type)
    if window and wide:
        sign = "sub" if ins.has("to") else "add"
        if value.tag == Tag.UNIFORM:
            value = q.uniform(t.out.let(f"{sign} i64 {value.text}, {window}"), "i64")
        elif value.tag == Tag.VARYING:
            value = q.varying(t.out.let(f"{sign} <32 x i64> {value.text}, splat (i64 {window})"), "i64")
        else:
            moved = q.add(t.out, value, q.uniform(str(window), "i64"), sign)
            assert moved is not None
            value = moved
    t.write(ins.operands[0], value, ins)


def isspacep(t: FunctionTranslator, ins: Instruction) -> None:
    """isspacep: does a generic address lie in a space?"""
    space = space_of(ins)
    address = t.operand(ins.operands[1], "u64")
    e = t.e1 if address.tag == Tag.UNIFORM else t.e32
    value = Value(address.text if address.tag == Tag.UNIFORM else t.vector(address), "i64")

    def within(base: int, size: int = WINDOW_BYTES) -> Value:
        return e.icmp("ult", e.op("sub", value, e.const("i64", base)), e.const("i64", size))

    if space == Space.SHARED:
        result = within(SHARED_WINDOW, CLUSTER_WINDOW_BYTES if ins.has("shared::cluster") else WINDOW_BYTES)
    elif space == Space.LOCAL:
        result = within(LOCAL_WINDOW)
    elif space == Space.GLOBAL:
        result = e.not_(e.op("or", within(SHARED_WINDOW, CLUSTER_WINDOW_BYTES), within(LOCAL_WINDOW)))
    else:
        result = e.const("i1", False)
    kind = UNIFORM if address.tag == Tag.UNIFORM else VARYING
    t.write(ins.operands[0], Quantity(kind, "i1", result.text), ins)


def prefetch(t: FunctionTranslator, ins: Instruction) -> None:
    """prefetch, prefetchu, applypriority, discard: hints that change no value."""


def create_policy(t: FunctionTranslator, ins: Instruction) -> None:
    """createpolicy: what a policy holds is not told (PTX ISA 9.7.9.18); caches that it would guide are not modelled."""
    t.write(ins.operands[0], q.uniform("0", "i64"), ins)
