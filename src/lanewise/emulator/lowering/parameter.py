"""Parameters of kernels, of device functions and of calls (PTX ISA 7.1, 9.7.9.8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator import quantity as q
from lanewise.emulator.kinds import Tag
from lanewise.emulator.layout import Warp
from lanewise.emulator.lowering import events
from lanewise.emulator.lowering.address import address_of, components
from lanewise.emulator.lowering.each_lane import gather, scatter, touch
from lanewise.emulator.quantity import Quantity
from lanewise.ptx.syntax import TYPE_BITS, Address, Instruction, Operand, Symbol
from lanewise.records import AccessKind, Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator


def load(t: FunctionTranslator, ins: Instruction) -> None:
    """ld.param: of the kernel, from the launch's buffer; of device functions and calls, from the frame."""
    element = f"i{TYPE_BITS[ins.type]}"
    targets = components(ins.operands[0])
    bytes_ = int(element[1:]) // 8
    place = _place(t, ins.operands[1])
    signed = ins.type.startswith("s")
    if place is None and not t.function.is_kernel:  # by address: a parameter of a device function lies in local memory
        site = t.new_site(ins, Space.LOCAL, AccessKind.LOAD, 8 * bytes_ * len(targets))
        address = address_of(t, ins.operands[1], wide=False)
        events.access(t, ins, site, Space.LOCAL, address)
        host, mask = touch(t, ins, Space.LOCAL, address, bytes_ * len(targets), site, is_load=True)
        for target, value in zip(targets, gather(t, host, mask, element, len(targets)), strict=True):
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
                value = gather(t, t.vector(address), t.mask(ins), element, part + 1)[part]
            t.write(target, value, ins, signed=signed)
        return
    host = _local_host(t, place)
    for target, value in zip(targets, gather(t, host, t.mask(ins), element, len(targets)), strict=True):
        t.write(target, value, ins, signed=signed)


def store(t: FunctionTranslator, ins: Instruction) -> None:
    """st.param: arguments of a call, results of a device function."""
    element = f"i{TYPE_BITS[ins.type]}"
    sources = [t.operand(source, ins.type) for source in components(ins.operands[1])]
    place = _place(t, ins.operands[0])
    assert place is not None
    scatter(t, _local_host(t, place), t.mask(ins), element, sources)


def copy(t: FunctionTranslator, source: str, target: str, size: int, mask: str) -> None:
    """Copy a parameter of `size` bytes between two places (i32 offsets) in local memory, for the lanes of `mask`."""
    done = 0
    while done < size:
        step = next(n for n in (8, 4, 2, 1) if n <= size - done)
        element = f"i{8 * step}"
        from_, to = (q.uniform(t.out.let(f"add i32 {place}, {done}"), "i32") for place in (source, target))
        value = gather(t, _local_host(t, from_), mask, element, 1)
        scatter(t, _local_host(t, to), mask, element, value)
        done += step


def _place(t: FunctionTranslator, operand: Operand) -> Quantity | None:
    """The local-memory offset of a parameter variable of a device function or a call; None: a kernel's parameter."""
    assert isinstance(operand, Address)
    if isinstance(operand.base, Symbol) and operand.base.name in t.unit.frames[id(t.function)].offsets:
        return address_of(t, operand, wide=False)
    return None


def _local_host(t: FunctionTranslator, place: Quantity) -> str:
    local = t.load_field(Warp.LOCAL, "ptr")
    return t.out.let(f"call <32 x i64> @lw_local_address(ptr {local}, <32 x i32> {t.vector(place)})")
