"""Atomics: atom and red of every space, type and scope (PTX ISA 9.7.13.5, 9.7.13.6).

Lanes go one after the other, lowest first. In shared memory plain operations do: a cluster's warps never run at the same
time. Elsewhere the host's atomics serve, at the system's scope whatever the scope asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator import quantity as q
from lanewise.emulator.lowering import events, exchange
from lanewise.emulator.lowering.address import (
    address_of,
    array_name,
    components,
    reaches_cluster,
    space_of,
    vector_length,
)
from lanewise.emulator.lowering.recount import recount
from lanewise.emulator.lowering.tell import tell
from lanewise.emulator.updates import INTEGER, one_update
from lanewise.ptx.syntax import TYPE_BITS, Address, Instruction, Operand
from lanewise.records import AccessKind, Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator

OPERATIONS = frozenset((*INTEGER, "min", "max", "cas"))


def operation_of(ins: Instruction) -> str:
    return next(modifier for modifier in ins.modifiers if modifier in OPERATIONS)


def atom(t: FunctionTranslator, ins: Instruction) -> None:
    """atom: the old value goes to the destination."""
    _atomic(t, ins, ins.operands[0], ins.operands[1:])


def red(t: FunctionTranslator, ins: Instruction) -> None:
    """red: nothing comes back."""
    _atomic(t, ins, None, ins.operands)


def _atomic(
    t: FunctionTranslator, ins: Instruction, destination: Operand | None, operands: tuple[Operand, ...]
) -> None:
    """One operation a lane, or (sm_90) one for each component of a vector; the vector is no atom as a whole."""
    address_operand = operands[0]
    assert isinstance(address_operand, Address)
    space = space_of(ins)
    element = f"i{TYPE_BITS[ins.type]}"
    size = TYPE_BITS[ins.type] // 8
    operation = operation_of(ins)
    count = vector_length(ins)
    address = address_of(t, address_operand, space != Space.SHARED)
    site = t.new_site(ins, space, AccessKind.ATOMIC, 8 * size * count, array_name(t, address_operand))
    values = [t.vector(t.operand(value, ins.type)) for value in components(operands[1])]
    swap = t.vector(t.operand(operands[2], ins.type)) if operation == "cas" else "zeroinitializer"
    if ins.has("sc", "acq_rel", "release", "acquire"):
        t.out.line("fence seq_cst")
    events.access(t, ins, site, space, address)
    results = () if destination is None else components(destination)
    way = events.EXCHANGES if operation == "exch" else events.UPDATES
    events.stored(t, ins, site, address, components(operands[1]), results, way)
    tell(t, ins, site, address)
    mask = t.mask(ins)
    host = _touch(t, ins, space, address, size * count, site, mask)
    recount(t, ins, site, address, exchange.Update(operation, ins.type, host, values[0]))
    name = f"lw_atom_{operation}_{ins.type}_{'shared' if space == Space.SHARED else 'memory'}"
    t.out.define(name, _helper(name, operation, ins.type, element, space == Space.SHARED))
    vector = f"<32 x {element}>"
    targets = components(destination) if destination is not None else (None,) * count
    for part, (value, target) in enumerate(zip(values, targets, strict=True)):
        at = host if part == 0 else t.out.let(f"add <32 x i64> {host}, splat (i64 {part * size})")
        old = t.out.let(f"call {vector} @{name}(<32 x i64> {at}, {vector} {value}, {vector} {swap}, i32 {mask})")
        if target is not None:
            t.write(target, q.varying(old, element), ins, signed=ins.type.startswith("s"))


def combine(t: FunctionTranslator, operation: str, ptx_type: str, addresses: str, value: str, mask: str) -> None:
    """Reductions at host addresses in device memory, one a lane of `mask`; nothing is counted."""
    element = f"i{TYPE_BITS[ptx_type]}"
    name = f"lw_atom_{operation}_{ptx_type}_memory"
    t.out.define(name, _helper(name, operation, ptx_type, element, shared=False))
    vector = f"<32 x {element}>"
    t.out.let(f"call {vector} @{name}(<32 x i64> {addresses}, {vector} {value}, {vector} zeroinitializer, i32 {mask})")


def _touch(
    t: FunctionTranslator, ins: Instruction, space: Space, address: q.Quantity, bytes_: int, site: object, mask: str
) -> str:
    from lanewise.emulator.unit import SiteInfo

    assert isinstance(site, SiteInfo)
    counters, cache = t.site_pointers(site)
    vector = t.vector(address)
    tail = f"i32 {mask}, i32 {bytes_}, i32 {site.index}"
    head = f"ptr %x, ptr %w, ptr {counters}"
    if space == Space.SHARED:
        which = "cluster" if reaches_cluster(ins) else "shared"
        return t.out.let(
            f"call <32 x i64> @lw_touch_{which}_atomic({head}, ptr %shared, <32 x i32> {vector}, {tail}, i1 false)"
        )
    if space == Space.GENERIC:
        return t.out.let(
            f"call <32 x i64> @lw_touch_generic_atomic({head}, ptr {cache}, ptr %shared, <32 x i64> {vector}, {tail}, "
            "i1 false)"
        )
    return t.out.let(f"call <32 x i64> @lw_touch_global({head}, ptr {cache}, <32 x i64> {vector}, {tail})")


def _helper(name: str, operation: str, ptx_type: str, element: str, shared: bool) -> str:
    """A function over the lanes of a mask; returns the old values."""
    vector = f"<32 x {element}>"
    return f"""
define internal {vector} @{name}(<32 x i64> %a, {vector} %bv, {vector} %cv, i32 %m) noinline nounwind {{
entry:
  %as = alloca <32 x i64>, align 64
  %bs = alloca {vector}, align 64
  %cs = alloca {vector}, align 64
  %os = alloca {vector}, align 64
  store <32 x i64> %a, ptr %as, align 64
  store {vector} %bv, ptr %bs, align 64
  store {vector} %cv, ptr %cs, align 64
  store {vector} zeroinitializer, ptr %os, align 64
  br label %loop
loop:
  %rest = phi i32 [ %m, %entry ], [ %rest2, %stored ]
  %end = icmp eq i32 %rest, 0
  br i1 %end, label %out, label %lane
lane:
  %i = call i32 @llvm.cttz.i32(i32 %rest, i1 true)
  %i64 = zext i32 %i to i64
  %ap = getelementptr i64, ptr %as, i64 %i64
  %at = load i64, ptr %ap
  %p = inttoptr i64 %at to ptr
  %bp = getelementptr {element}, ptr %bs, i64 %i64
  %b = load {element}, ptr %bp
  %cp = getelementptr {element}, ptr %cs, i64 %i64
  %c = load {element}, ptr %cp
{one_update(operation, ptx_type, element, shared)}stored:
  %op = getelementptr {element}, ptr %os, i64 %i64
  store {element} %old, ptr %op
  %less = sub i32 %rest, 1
  %rest2 = and i32 %rest, %less
  br label %loop
out:
  %r = load {vector}, ptr %os, align 64
  ret {vector} %r
}}
declare i32 @llvm.cttz.i32(i32, i1)
"""
