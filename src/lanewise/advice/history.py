"""The launches of a program so far, for rules that look at more than one."""

from __future__ import annotations

from dataclasses import dataclass, field

from lanewise.records import LaunchRecord


@dataclass(slots=True)
class History:
    """Records in the order of the program, those that are not reported left out."""

    launches: list[LaunchRecord] = field(default_factory=list)
