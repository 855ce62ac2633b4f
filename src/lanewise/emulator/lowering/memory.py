"""Loads and stores (PTX ISA 9.7.9).

An access takes the cheapest of the ways that hold: one address for all lanes; a run of neighbouring addresses; lanes at
constant distances; or a vector of addresses, lane by lane. All but the last count by closed form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator import quantity as q
from lanewise.emulator.kinds import Tag
from lanewise.emulator.lowering import each_lane, events, lane_pattern, one_address, run, shared, slow
from lanewise.emulator.lowering.address import (
    address_of,
    array_name,
    components,
    memory_offset,
    reaches_cluster,
    space_of,
)
from lanewise.emulator.lowering.recount import recount
from lanewise.emulator.lowering.tell import tell
from lanewise.emulator.quantity import Quantity
from lanewise.emulator.unit import SiteInfo
from lanewise.ptx.syntax import TYPE_BITS, Instruction, Operand
from lanewise.records import AccessKind, Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator

_ORDERED = ("volatile", "relaxed", "acquire", "release", "mmio")


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
    elif run.is_run(address, made, bytes_ * count):
        run.store(t, space, address, element, sources, site)
    elif made is not None and lane_pattern.usable(made, space, bytes_ * count):
        way = lane_pattern.begin(t, space, address, made, bytes_ * count, site, AccessKind.STORE)
        lane_pattern.store(t, space, made, way.bases, element, [t.vector(source) for source in sources])
        t.out.line(f"br label %{way.join}")
        t.out.label(way.slow)
        slow.store(t, space, address, element, [t.vector(source) for source in sources], site)
        t.out.line(f"br label %{way.join}")
        t.out.label(way.join)
    else:
        host, mask = each_lane.touch(t, ins, space, address, bytes_ * count, site, is_load=False)
        each_lane.scatter(t, host, mask, element, sources)
    if ordered:
        t.out.line('fence syncscope("singlethread") seq_cst')


def _values(
    t: FunctionTranslator, ins: Instruction, space: Space, address: Quantity, element: str, count: int, site: SiteInfo
) -> list[Quantity]:
    bytes_ = int(element[1:]) // 8
    if ins.guard is None and space in (Space.GLOBAL, Space.CONST, Space.SHARED) and not reaches_cluster(ins):
        if address.tag == Tag.UNIFORM:
            return one_address.load(t, space, address, element, count, site)
        made = lane_pattern.plan(address)
        if run.is_run(address, made, bytes_ * count):
            return run.load(t, space, address, element, count, site)
        if made is not None and lane_pattern.usable(made, space, bytes_ * count):
            return _load_plan(t, space, address, made, element, count, site)
    host, mask = each_lane.touch(t, ins, space, address, bytes_ * count, site, is_load=True)
    return each_lane.gather(t, host, mask, element, count)


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


def _as_target(t: FunctionTranslator, target: Operand, value: Quantity) -> Quantity:
    """A vector for a register that is one scalar (a guarded load from one address): the first lane's value."""
    kind = t.analysis.kind(target)
    if value.tag == Tag.VARYING and kind is not None and kind.tag == Tag.UNIFORM:
        lane = t.edge("first")
        return q.uniform(t.out.let(f"extractelement <32 x {value.type}> {value.text}, i32 {lane}"), value.type)
    return value


def prefetch(t: FunctionTranslator, ins: Instruction) -> None:
    """prefetch, prefetchu, applypriority, discard: hints that change no value."""


def create_policy(t: FunctionTranslator, ins: Instruction) -> None:
    """createpolicy: what a policy holds is not told (PTX ISA 9.7.9.18); caches that it would guide are not modelled."""
    t.write(ins.operands[0], q.uniform("0", "i64"), ins)
