"""How errors reach the user: on standard error, one message with what, why and what to do next."""

from __future__ import annotations

import sys
import traceback

from rich.console import Console
from rich.text import Text

from lanewise.catalogue import catalogue
from lanewise.errors import CompileError, KernelFault, LanewiseError, UnsupportedCode
from lanewise.report import text
from lanewise.report.findings import finding_lines, unsupported_lines
from lanewise.version import __version__

REPORT_BUGS_AT = "the project's issue tracker"
WIDEST = 120


def print_error(error: LanewiseError) -> None:
    """A compiler's message stands alone; everything else is `lanewise: message`, details, and the next step."""
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    width = min(console.width, WIDEST)
    if isinstance(error, CompileError):
        sys.stderr.write(error.output if error.output.endswith("\n") else f"{error.output}\n")
        return
    if isinstance(error, KernelFault):
        lines = finding_lines(error.finding, 1, {}, catalogue(), width)
    else:
        lines = _paragraphs(f"lanewise: {error.message}", width)
        lines[0].stylize("bold red", 0, len("lanewise:"))
        if isinstance(error, UnsupportedCode):
            lines += unsupported_lines(error.items, catalogue(), width)
        if error.next_step:
            lines += _paragraphs(f"  next: {error.next_step}", width)
    for line in lines:
        console.print(line, no_wrap=True, overflow="ignore", crop=False)


def print_bug(error: BaseException, *, debug: bool) -> None:
    """An exception that should not have reached the user: short, unless `debug` asks for the traceback."""
    if debug:
        traceback.print_exception(error, file=sys.stderr)
    what = text.clean(f"{type(error).__name__}: {error}")
    where = "" if debug else " with the output of `lanewise --debug ...`, the same command with --debug in front,"
    sys.stderr.write(
        f"lanewise: this is a bug in Lanewise {__version__}: {what}\n"
        f"  next: please report it{where} at {REPORT_BUGS_AT}\n"
    )


def _paragraphs(message: str, width: int) -> list[Text]:
    """Each line of the message wrapped, so that a message may hold lines of its own."""
    return [Text(line) for part in message.splitlines() for line in text.wrap(part, width, rest="  ")]
