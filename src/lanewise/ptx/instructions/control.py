"""Control flow (PTX ISA 9.7.12), the stack (9.7.17) and the rest (9.7.19)."""

from __future__ import annotations

from functools import partial

from lanewise.ptx.instructions.spec import InstructionSpec, group

_flow = partial(group("Control flow"), destinations=0)
_stack = partial(group("Stack"), reason="stack memory of a size known only at run time is not run yet")
_other = partial(group("Miscellaneous"), destinations=0)

SPECS: tuple[InstructionSpec, ...] = (
    _flow("bra", "9.7.12.3", "Branch", "control.bra", "uni? : &", convergence="branch"),
    _flow("brx.idx", "9.7.12.4", "Branch by a table", "control.brx", "uni? : u32 &", convergence="branch"),
    _flow("call", "9.7.12.5", "Call a function", "control.call", "uni? : ...", convergence="call"),
    _flow("ret", "9.7.12.6", "Return", "control.ret", "uni? :", convergence="exit"),
    _flow("exit", "9.7.12.7", "End the thread", "control.exit", ":", convergence="exit"),
    _stack("stacksave", "9.7.17.1", "Read the stack pointer", None, "u32|u64 : T"),
    _stack("stackrestore", "9.7.17.2", "Set the stack pointer", None, "u32|u64 : T", destinations=0),
    _stack("alloca", "9.7.17.3", "Allocate on the stack", None, "u32|u64 : T T u32?"),
    _other("brkpt", "9.7.19.1", "Breakpoint", "control.brkpt", ":"),
    _other("nanosleep", "9.7.19.2", "Sleep", "control.nanosleep", "u32 : u32"),
    _other("pmevent", "9.7.19.3", "Performance monitor event", "control.pmevent", "mask? : u32"),
    _other("trap", "9.7.19.4", "Abort the launch", "control.trap", ":", convergence="exit"),
    _other(
        "setmaxnreg",
        "9.7.19.5",
        "Change the number of registers",
        "control.setmaxnreg",
        "inc|dec sync aligned u32 : u32",
    ),
)
