"""The exceptions of Lanewise and the exit codes of its commands, in one place.

LanewiseError                 base; carries `exit_code` and an optional `next_step`
├── UsageError                a wrong option, an unknown device, a size over a limit
├── EnvironmentProblem        something missing on this machine (host compiler, disk space, wheel)
├── CompileError              the user's source does not compile; `output` holds the compiler's own text
├── PtxSyntaxError            text that is not PTX; `line`, `column`
├── UnsupportedCode           `items`: everything unsupported, at once
├── LimitReached              a settable limit (instructions, time, memory) ended the work
└── KernelFault               a launch failed as it would on the card; `finding` says what, where, why
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lanewise.records import Finding, Unsupported


class ExitCode(IntEnum):
    """Exit codes of our own; `run` otherwise returns the program's status. They avoid a shell's 126 to 165."""

    OK = 0
    USAGE = 2
    FAULT = 80  # a kernel faulted and the program itself exited with 0
    COMPILE = 81
    UNSUPPORTED = 82
    ENVIRONMENT = 83
    LIMIT = 84
    INTERNAL = 85
    BAD_PTX = 86
    FINDINGS = 87
    UNCHECKED = 88
    WORSE = 89


class LanewiseError(Exception):
    """Base of all errors that a user is meant to see: one message, and what to do next."""

    exit_code: ExitCode = ExitCode.INTERNAL

    def __init__(self, message: str, *, next_step: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step


class UsageError(LanewiseError):
    exit_code = ExitCode.USAGE


class EnvironmentProblem(LanewiseError):
    exit_code = ExitCode.ENVIRONMENT


class CompileError(LanewiseError):
    exit_code = ExitCode.COMPILE

    def __init__(self, message: str, output: str, *, next_step: str | None = None) -> None:
        super().__init__(message, next_step=next_step)
        self.output = output


class PtxSyntaxError(LanewiseError):
    """`line` and `column` are 1-based positions in the PTX text."""

    exit_code = ExitCode.BAD_PTX

    def __init__(self, message: str, line: int, column: int, *, next_step: str | None = None) -> None:
        super().__init__(f"PTX line {line}, column {column}: {message}", next_step=next_step)
        self.line = line
        self.column = column


class UnsupportedCode(LanewiseError):
    exit_code = ExitCode.UNSUPPORTED

    def __init__(self, message: str, items: Sequence[Unsupported], *, next_step: str | None = None) -> None:
        super().__init__(message, next_step=next_step)
        self.items = tuple(items)


class LimitReached(LanewiseError):
    exit_code = ExitCode.LIMIT


class KernelFault(LanewiseError):
    exit_code = ExitCode.FAULT

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message, next_step=finding.next_step)
        self.finding = finding
