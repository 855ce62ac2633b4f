"""Calls and the instructions that stop or delay a thread (PTX ISA 9.7.12, 9.7.19)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator.layout import Fault, Launch, Request, Service, Worker
from lanewise.emulator.lowering import parameter
from lanewise.emulator.unsupported import parameter_sizes
from lanewise.ptx.syntax import Function, Instruction, Operand, OperandList, Register, Symbol

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator

SERVICES = {
    "vprintf": Service.PRINTF,
    "malloc": Service.MALLOC,
    "free": Service.FREE,
    "__assertfail": Service.ASSERT,
    "__assert_fail": Service.ASSERT,
}


def call_parts(ins: Instruction) -> tuple[tuple[Operand, ...], Operand, tuple[Operand, ...]]:
    """(results, what is called, arguments) of a call."""
    operands = list(ins.operands)
    results: tuple[Operand, ...] = ()
    if isinstance(operands[0], OperandList):
        results = operands.pop(0).elements  # type: ignore[union-attr]
    target = operands.pop(0)
    arguments: tuple[Operand, ...] = ()
    if operands and isinstance(operands[0], OperandList):
        arguments = operands[0].elements
    return results, target, arguments


def call(t: FunctionTranslator, ins: Instruction) -> None:
    """call, direct and indirect. Arguments and results pass through the .param variables of both frames."""
    results, target, arguments = call_parts(ins)
    if isinstance(target, Symbol):
        function = t.unit.program.find_function(target.name, t.unit.program.module_of(t.function))
        if function is None:
            _service(t, ins, target.name, results, arguments)
            return
        if ins.guard is None:
            _invoke(t, function, results, arguments, t.active)
            return
        mask = t.mask(ins)
        some, done = t.out.fresh_label("calls"), t.out.fresh_label("called")
        t.out.line(f"br i1 {t.out.let(f'icmp ne i32 {mask}, 0')}, label %{some}, label %{done}")
        t.out.label(some)
        _invoke(t, function, results, arguments, mask)
        t.out.line(f"br label %{done}")
        t.out.label(done)
        t.reload_active()
        return
    _indirect(t, ins, target, results, arguments)


def _place(t: FunctionTranslator, operand: Operand) -> str:
    """Local-memory offset (i32 text) of a .param variable of this frame."""
    assert isinstance(operand, Symbol), operand
    return t.out.let(f"add i32 %frame, {t.unit.frames[id(t.function)].offsets[operand.name]}")


def _invoke(
    t: FunctionTranslator, function: Function, results: tuple[Operand, ...], arguments: tuple[Operand, ...], mask: str
) -> str:
    """Call a function for the lanes of `mask`; returns the lanes that came back, which are active from here on."""
    out = t.out
    mine = t.unit.frames[id(t.function)]
    its = t.unit.frames[id(function)]
    frame = out.let(f"add i32 %frame, {mine.size}")
    if t.unit.recursive:
        _check_stack(t, frame, its.size, mask)
    t.burn_fuel()
    for argument, param in zip(arguments, function.params, strict=True):
        to = out.let(f"add i32 {frame}, {its.offsets[param.name]}")
        parameter.copy(t, _place(t, argument), to, param.size, mask)
    name = t.unit.llvm_name(function.name)
    back = out.let(
        f"call i32 @{name}(ptr %x, ptr %w, ptr %cnt, ptr %cache, ptr %shared, ptr %params, i32 {mask}, i32 {frame})"
    )
    for result, param in zip(results, function.returns, strict=True):
        source = out.let(f"add i32 {frame}, {its.offsets[param.name]}")
        parameter.copy(t, source, _place(t, result), param.size, back)
    gone = out.let(f"and i32 {mask}, {out.let(f'xor i32 {back}, -1')}")
    left = out.let(f"and i32 {t.active}, {out.let(f'xor i32 {gone}, -1')}")
    out.line(f"store i32 {left}, ptr %act")
    some, none = out.fresh_label("back"), out.fresh_label("gone")
    out.line(f"br i1 {out.let(f'icmp ne i32 {left}, 0')}, label %{some}, label %{none}, !prof !2")
    out.label(none)
    t.lanes_left()
    out.label(some)
    t.reload_active()
    return back


def _check_stack(t: FunctionTranslator, frame: str, size: int, mask: str) -> None:
    """Recursion ends in a fault before local memory runs over; `translate` looks after the native stack."""
    out = t.out
    limit = t.load_field(Launch.LOCAL_BYTES, "i64", "%launch")
    end = out.let(f"zext i32 {out.let(f'add i32 {frame}, {size}')} to i64")
    fits = out.let(f"icmp ule i64 {end}, {limit}")
    good, bad = out.fresh_label("fits"), out.fresh_label("over")
    out.line(f"br i1 {fits}, label %{good}, label %{bad}, !prof !2")
    out.label(bad)
    site = t.fault_site()
    out.line(f"call void @lw_fault(ptr %x, ptr %w, i32 {site}, i32 {Fault.STACK}, i32 {mask}, i32 0)")
    out.line("unreachable")
    out.label(good)


def _indirect(
    t: FunctionTranslator,
    ins: Instruction,
    target: Operand,
    results: tuple[Operand, ...],
    arguments: tuple[Operand, ...],
) -> None:
    """Lanes with the same target go together, the lowest lane's first."""
    assert isinstance(target, Register)
    out = t.out
    addresses = t.vector(t.operand(target, "u64"))
    out.line(f"store i32 {t.mask(ins)}, ptr %callers")
    loop, body, done = out.fresh_label("calls"), out.fresh_label("target"), out.fresh_label("called")
    out.line(f"br label %{loop}")
    out.label(loop)
    t.reload_active()
    rest = out.let("load i32, ptr %callers")
    rest = out.let(f"and i32 {rest}, {t.active}")
    out.line(f"br i1 {out.let(f'icmp ne i32 {rest}, 0')}, label %{body}, label %{done}")
    out.label(body)
    out.declare("declare i32 @llvm.cttz.i32(i32, i1)")
    lane = out.let(f"call i32 @llvm.cttz.i32(i32 {rest}, i1 true)")
    address = out.let(f"extractelement <32 x i64> {addresses}, i32 {lane}")
    equal = out.let(f"icmp eq <32 x i64> {addresses}, {_splat64(t, address)}")
    group = out.let(f"and i32 {out.let(f'bitcast <32 x i1> {equal} to i32')}, {rest}")
    out.line(f"store i32 {out.let(f'xor i32 {rest}, {group}')}, ptr %callers")
    sizes = parameter_sizes(t.function)
    given = [sizes[operand.name] for operand in (*results, *arguments) if isinstance(operand, Symbol)]
    candidates = [f for f in t.unit.functions if not f.is_kernel and _sizes(f) == given]
    labels = [out.fresh_label("to") for _ in candidates]
    bad = out.fresh_label("nowhere")
    cases = " ".join(
        f"i64 {t.unit.program.function_address(f)}, label %{label}" for f, label in zip(candidates, labels, strict=True)
    )
    out.line(f"switch i64 {address}, label %{bad} [ {cases} ]")
    out.label(bad)
    site = t.fault_site()
    out.line(f"call void @lw_fault(ptr %x, ptr %w, i32 {site}, i32 {Fault.BAD_CALL}, i32 {group}, i32 0)")
    out.line("unreachable")
    for function, label in zip(candidates, labels, strict=True):
        out.label(label)
        t.reload_active()  # not the value of the candidate before
        _invoke(t, function, results, arguments, group)
        out.line(f"br label %{loop}")
    out.label(done)
    t.reload_active()


def _splat64(t: FunctionTranslator, text: str) -> str:
    from lanewise.emulator import quantity as q

    return q.splat(t.out, "i64", text)


def _sizes(function: Function) -> list[int]:
    return [param.size for param in (*function.returns, *function.params)]


def _service(
    t: FunctionTranslator, ins: Instruction, name: str, results: tuple[Operand, ...], arguments: tuple[Operand, ...]
) -> None:
    """printf, malloc, free, assert: the host does them, from the .param variables in local memory."""
    out = t.out
    mask = t.mask(ins)
    fields = [
        (Worker.SERVICE, str(SERVICES[name])),
        (Worker.SERVICE_MASK, out.let(f"zext i32 {mask} to i64")),
        (Worker.SERVICE_RESULT, _wide(t, _place(t, results[0])) if results else "-1"),
    ]
    for number, argument in enumerate(arguments[:8]):
        fields.append((Worker.SERVICE_ARGUMENTS + 8 * number, _wide(t, _place(t, argument))))
    some, done = out.fresh_label("ask"), out.fresh_label("asked")
    out.line(f"br i1 {out.let(f'icmp ne i32 {mask}, 0')}, label %{some}, label %{done}")
    out.label(some)
    for offset, value in fields:
        out.line(f"store i64 {value}, ptr {t.field_pointer('%w', offset)}")
    site = t.fault_site()
    out.line(f"store i64 {site}, ptr {t.field_pointer('%w', Worker.FAULT_SITE)}")
    out.line(f"call void @lw_ask(ptr %x, ptr %w, i64 {Request.SERVICE})")
    out.line(f"br label %{done}")
    out.label(done)


def _wide(t: FunctionTranslator, text: str) -> str:
    return t.out.let(f"zext i32 {text} to i64")


def trap(t: FunctionTranslator, ins: Instruction) -> None:
    """trap: the launch fails."""
    out = t.out
    mask = t.mask(ins)
    bad, good = out.fresh_label("trap"), out.fresh_label("go")
    out.line(f"br i1 {out.let(f'icmp ne i32 {mask}, 0')}, label %{bad}, label %{good}")
    out.label(bad)
    out.line(f"call void @lw_fault(ptr %x, ptr %w, i32 {t.fault_site()}, i32 {Fault.TRAP}, i32 {mask}, i32 0)")
    out.line("unreachable")
    out.label(good)


def nothing(t: FunctionTranslator, ins: Instruction) -> None:
    """brkpt, nanosleep, pmevent, setmaxnreg and the like: no value changes, and time is not modelled here."""


brkpt = nanosleep = pmevent = griddepcontrol = setmaxnreg = nothing
