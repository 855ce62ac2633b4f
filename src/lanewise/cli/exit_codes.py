"""What each exit code means, for `docs/exit-codes.md` and the exit status of `run`."""

from __future__ import annotations

from lanewise.errors import ExitCode
from lanewise.records import RunResult, Severity

MEANINGS: dict[ExitCode, str] = {
    ExitCode.OK: "The command did what it was asked; `run`: the program exited with 0 and no kernel faulted.",
    ExitCode.USAGE: "A wrong option, an unknown device, a file that is not there or is not what the command reads.",
    ExitCode.FAULT: "A kernel faulted, and the program itself exited with 0 all the same.",
    ExitCode.COMPILE: "The source does not compile; the compiler's message is all that is printed.",
    ExitCode.UNSUPPORTED: "The program uses instructions or calls that this version cannot run; all are listed.",
    ExitCode.ENVIRONMENT: "Something is missing on this machine: a host compiler, a wheel, disk space.",
    ExitCode.LIMIT: "A settable limit on instructions, time or memory ended the work; the message says which.",
    ExitCode.INTERNAL: "A bug in Lanewise.",
    ExitCode.BAD_PTX: "Text that is not PTX; the message says where.",
}

SIGNAL_BASE = 128  # a shell's: a process ended by signal N has the status 128 + N
LIMIT_CHECK = "limit"  # the `check` of findings about limits


def exit_status(result: RunResult) -> int:
    """The exit status of `run`: our own where we could not do the work, else the program's, else FAULT."""
    if result.unsupported:
        return ExitCode.UNSUPPORTED
    findings = [*result.findings, *(finding for launch in result.launches for finding in launch.findings)]
    errors = {finding.check for finding in findings if finding.severity is Severity.ERROR}
    if LIMIT_CHECK in errors:
        return ExitCode.LIMIT
    if result.exit_code is None:
        return ExitCode.INTERNAL
    if result.exit_code < 0:
        return SIGNAL_BASE - result.exit_code
    return result.exit_code or (ExitCode.FAULT if errors else ExitCode.OK)


def page() -> str:
    """`docs/exit-codes.md`."""
    rows = [f"| {code.value} | `{code.name}` | {meaning} |" for code, meaning in MEANINGS.items()]
    return "\n".join([_INTRODUCTION, "| code | name | meaning |", "| --- | --- | --- |", *rows, "", _NOTES])


_INTRODUCTION = """\
# Exit codes

The same for every command. `lanewise run` returns the program's own exit code, so that a script that calls the program
can call `lanewise run` instead, unless Lanewise itself could not do its work or a kernel faulted.
"""

_NOTES = f"""\
What `run` returns, in this order:

1. If Lanewise could not do its work, the code of the reason. `UNSUPPORTED` and `LIMIT` come before the program's own
   code: how a program ends that lost a kernel on the way says nothing.
2. The program's own code if it is not 0; {SIGNAL_BASE} + N if signal N ended it, as in a shell.
3. `FAULT` if a kernel faulted: the program did not look at the error, or went on after it.
4. 0.

Counts never change the exit code: a program that is slow is not broken. A program that exits with a code of this table
of its own cannot be told apart by the code; the last lines of the report and `exit_code` in the JSON say what it was.
Codes from 126 to 165 are left to shells. Ctrl-C gives 130.
"""
