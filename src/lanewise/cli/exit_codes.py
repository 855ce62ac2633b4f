"""What each exit code means, for `docs/exit-codes.md` and the exit status of `run`."""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.errors import ExitCode
from lanewise.records import Finding, RunResult, Severity

MEANINGS: dict[ExitCode, str] = {
    ExitCode.OK: "The command did what it was asked; `run`: the program exited with 0 and no kernel faulted.",
    ExitCode.USAGE: "A wrong option, an unknown device, a file that is missing, in the way, or not what is read.",
    ExitCode.FAULT: "A kernel faulted, and the program itself exited with 0 all the same.",
    ExitCode.COMPILE: "The source does not compile; the compiler's message is all that is printed.",
    ExitCode.UNSUPPORTED: "The program uses instructions or libraries that this version cannot run; all are listed.",
    ExitCode.ENVIRONMENT: "Something is missing on this machine: a host compiler, a wheel, disk space.",
    ExitCode.LIMIT: "A settable limit on instructions, time or memory ended the work; the message says which.",
    ExitCode.INTERNAL: "A bug in Lanewise.",
    ExitCode.BAD_PTX: "Text that is not PTX; the message says where.",
    ExitCode.FINDINGS: "A check found an error or a warning (notes do not count).",
    ExitCode.UNCHECKED: "Checks were asked for, but no access to memory was checked: that is not clean.",
    ExitCode.WORSE: "`diff`: something that `--fail-on` names got worse.",
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
    if result.check is not None:
        return result.exit_code or _verdict(result, findings)
    return result.exit_code or (ExitCode.FAULT if errors else ExitCode.OK)


def check_status(result: RunResult) -> int:
    """The exit status of `check`: as of `run`, but what was found comes before the program's own status."""
    if result.unsupported:
        return ExitCode.UNSUPPORTED
    findings = [*result.findings, *(finding for launch in result.launches for finding in launch.findings)]
    return _verdict(result, findings) or exit_status(result)


def _verdict(result: RunResult, findings: Sequence[Finding]) -> ExitCode:
    if any(finding.severity is not Severity.NOTE for finding in findings):
        return ExitCode.FINDINGS
    return ExitCode.UNCHECKED if result.check is None or not result.check.accesses else ExitCode.OK


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

What `check` returns: `UNSUPPORTED` first, then `FINDINGS`, then `UNCHECKED`, then as `run`. `run --check` puts the
program's own code before `FINDINGS` and `UNCHECKED`. So five answers of `check` can be told apart: clean
({ExitCode.OK.value}), findings ({ExitCode.FINDINGS.value}), nothing checked ({ExitCode.UNCHECKED.value}),
unsupported code ({ExitCode.UNSUPPORTED.value}), and a failure of the tool or of what it needs
({ExitCode.INTERNAL.value}, {ExitCode.ENVIRONMENT.value}, {ExitCode.COMPILE.value}).

A call of the CUDA runtime that this version lacks is an error to the program (`cudaErrorNotSupported`) and a warning in
the report; how the program ends is its own affair.

Counts never change the exit code: a program that is slow is not broken. A program that exits with a code of this table
of its own cannot be told apart by the code; the last lines of the report and `exit_code` in the JSON say what it was.
Codes from 126 to 165 are left to shells. Ctrl-C gives 130.
"""
