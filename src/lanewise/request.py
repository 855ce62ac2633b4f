"""What a run is asked to do: the one argument of `lanewise.session.run_program`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path

# Called as progress(done_blocks, total_blocks, kernel) while a kernel runs, from any thread, as often as is convenient;
# the last call of a launch has done == total.
Progress = Callable[[int, int, str], None]

DEFAULT_DEVICE = "h200"


class Build(StrEnum):
    """Which build of sources is run: the optimiser may hide what is wrong."""

    OPTIMISED = "optimised"
    PLAIN = "plain"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A program, how to build it, what to report of it, and where to stop.

    `inputs` are sources, objects and libraries to build a program from, or one executable. Everything of the program
    runs; `kernel` and `launches` choose what is reported.
    """

    inputs: tuple[Path, ...]
    flags: tuple[str, ...] = ()  # for nvcc, in the order given, values of their own included ("-I", "include")
    arguments: tuple[str, ...] = ()  # for the program
    device: str = DEFAULT_DEVICE
    arch: str | None = None  # such as "sm_90"; None: the flags', else the device's
    kernel: str | None = None  # pattern, see `reports`
    launches: int | None = None  # at most so many launches of each kernel
    cold: bool = False  # the caches are emptied before each launch
    deterministic: bool = False  # one order of blocks, so that floating-point atomics give the same sums
    max_instructions: int | None = None  # thread-level PTX instructions of one launch; None: the emulator's default
    max_seconds: float | None = None  # wall time of one launch; None: the emulator's default
    checks: tuple[str, ...] = ()  # names of `checks.selection.Check`
    config: Path | None = None  # suppressions; None: the file nearest to the program
    build: Build = Build.OPTIMISED
    advice: bool = True  # what to change, tried where it can be (docs/advice.md)
    schedules: int = 1  # runs, each with another order of blocks and warps
    progress: Progress | None = field(default=None, compare=False)

    def reports(self, kernel: str, earlier: int) -> bool:
        """Whether a launch is reported: `kernel` is its demangled name, `earlier` how many launches of the same kernel
        were reported before it.

        The pattern stands anywhere in the name; with `*`, `?` or `[` in it, it is a shell pattern for the whole name,
        with or without the parameter list.
        """
        if self.launches is not None and earlier >= self.launches:
            return False
        pattern = self.kernel
        if pattern is None:
            return True
        if any(letter in pattern for letter in "*?["):
            return fnmatchcase(kernel, pattern) or fnmatchcase(kernel.split("(")[0].removeprefix("void "), pattern)
        return pattern in kernel
