"""Kernels compiled for the tests of this room: PTX text, and the listing of the machine code made from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from lanewise.sass import blocks, listing
from lanewise.sass.blocks import MachineBlock
from lanewise.sass.listing import SassFunction
from lanewise.toolchain import nvrtc, ptxas


@dataclass(frozen=True)
class Built:
    ptx: str
    functions: dict[str, SassFunction]

    @property
    def kernel(self) -> SassFunction:
        return next(iter(self.functions.values()))

    @property
    def blocks(self) -> list[MachineBlock]:
        return blocks.build(self.kernel)

    def ptx_text(self, line: int | None) -> str:
        assert line is not None
        return self.ptx.splitlines()[line - 1].strip()


@pytest.fixture(scope="session", autouse=True)
def _builds(fresh_builds: Path) -> None:
    """Builds are real, and nothing is left behind."""


@pytest.fixture(scope="session")
def build() -> Callable[..., Built]:
    def make(source: str, arch: str = "sm_90", options: tuple[str, ...] = ()) -> Built:
        ptx = nvrtc.compile_source(source, arch=arch)
        return Built(ptx, listing.listing(ptxas.assemble(ptx, arch=arch, options=options).cubin))

    return make
