"""Names of GPU architectures as the compilers spell them: "sm_90", "sm_90a", "compute_90"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lanewise.errors import UsageError

_NAME = re.compile(r"(?:sm|compute|lto)_(\d{2,3})([af]?)")


@dataclass(frozen=True, slots=True)
class Arch:
    """Compute capability times ten, and the suffix of code that runs on one architecture ("a") or family ("f") only."""

    number: int
    suffix: str = ""

    @property
    def real(self) -> str:
        return f"sm_{self.number}{self.suffix}"

    @property
    def virtual(self) -> str:
        return f"compute_{self.number}{self.suffix}"

    def runs_ptx_of(self, target: Arch) -> bool:
        """Whether PTX with that `.target` can be assembled for this architecture (PTX ISA, `.target`)."""
        if target.suffix == "a":
            return self == target
        if target.suffix == "f":
            return self.number // 10 == target.number // 10 and self.number >= target.number and self.suffix != ""
        return self.number >= target.number


def parse(name: str) -> Arch:
    """UsageError where it is no architecture's name."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise UsageError(f"{name!r} is not an architecture", next_step="write it as sm_90")
    return Arch(int(match[1]), match[2])


def virtual(name: str) -> str:
    """ "sm_90" -> "compute_90"."""
    return parse(name).virtual


def not_compiled_for(name: str) -> UsageError:
    """The error for an architecture ("sm_50", "compute_50") that the compiler has dropped or does not know yet."""
    return UsageError(
        f"the CUDA 13.0 compiler makes no code for {parse(name).real}",
        next_step="choose --arch sm_75 or newer, up to sm_121",
    )
