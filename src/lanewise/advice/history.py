"""The launches of a program so far, for rules that look at more than one."""

from __future__ import annotations

from dataclasses import dataclass, field

from lanewise.emulator.trace import Trace
from lanewise.records import LaunchRecord


@dataclass(slots=True)
class History:
    """Records in the order of the program, those that are not reported left out; `trace` is of the last of them."""

    launches: list[LaunchRecord] = field(default_factory=list)
    trace: Trace | None = None

    def add(self, record: LaunchRecord, trace: Trace | None) -> None:
        self.launches.append(record)
        self.trace = trace
