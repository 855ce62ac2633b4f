"""What a test gets of one run of a host program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fake_backend import FakeBackend

from lanewise.cudart.host import HostResult
from lanewise.emulator.memory import DeviceMemory

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True, slots=True)
class Run:
    result: HostResult
    backend: FakeBackend
    memory: DeviceMemory
    output: str
    complaint: str  # what came on stderr


Runner = Callable[..., Run]
