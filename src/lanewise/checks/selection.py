"""The checks there are, and how they are asked for by name."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from lanewise.emulator.instrument import Events
from lanewise.errors import UsageError


class Check(StrEnum):
    """A check by the name that findings carry."""

    BOUNDS = "bounds"
    RACE = "race"
    UNINITIALISED = "uninitialised"
    BARRIER = "barrier"
    LEAK = "leak"


ALL = frozenset(Check)


def parse(text: str) -> frozenset[Check]:
    """`race,bounds` as checks; "all" or nothing: every one. Raises UsageError for a name that is none."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names or names == ["all"]:
        return ALL
    known = {check.value for check in Check}
    wrong = [name for name in names if name not in known]
    if wrong:
        raise UsageError(
            f"there is no check called {wrong[0]}", next_step=f"checks: {', '.join(Check)}; several with commas, or all"
        )
    return frozenset(Check(name) for name in names)


def names(checks: Iterable[Check]) -> tuple[str, ...]:
    """In the order of their definition."""
    chosen = frozenset(checks)
    return tuple(check.value for check in Check if check in chosen)


def events(checks: Iterable[Check]) -> Events:
    """What kernels have to tell for these checks."""
    chosen = frozenset(checks)
    race, bounds = Check.RACE in chosen, Check.BOUNDS in chosen
    return Events(
        accesses=race,
        values=race,
        brief_reads=race,
        ranges=bounds,
        sync=race or Check.BARRIER in chosen,
        keep_going=bounds,
        defined=Check.UNINITIALISED in chosen,
    )
