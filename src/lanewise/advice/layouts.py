"""Other layouts of an array in shared memory, tried on the requests that a launch made of it.

A layout moves the bytes of rows: padding leaves bytes unused behind each row, a swizzle exchanges the places within a
row by an exclusive or with the row's number. Both keep `unit` bytes together, the widest access to the array, so that
every access stays one access and is aligned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lanewise.advice.sampling import Request, active
from lanewise.hardware.banks import BANKS, wavefronts
from lanewise.hardware.coalescing import WARP, WORD_BYTES
from lanewise.records import AccessKind

ROW_OF_BANKS = BANKS * WORD_BYTES
_MOST_PITCHES = 3
_MOST_PADDING = 4  # units
_COMMON = 0.2  # of the steps between lanes


@dataclass(frozen=True, slots=True)
class Layout:
    """Rows of `pitch` bytes, `padding` unused bytes behind each, or with their units exchanged (`swizzled`)."""

    pitch: int
    unit: int
    padding: int = 0
    swizzled: bool = False

    def place(self, offset: int) -> int:
        """Where the byte at an offset of the array goes."""
        row, column = divmod(offset, self.pitch)
        if self.swizzled:
            units = self.pitch // self.unit
            return row * self.pitch + ((column // self.unit ^ row % units) * self.unit) + column % self.unit
        return row * (self.pitch + self.padding) + column

    def extra_bytes(self, size: int) -> int:
        """More than an array of `size` bytes takes."""
        return -(-size // self.pitch) * self.padding


@dataclass(frozen=True, slots=True)
class Charge:
    """How requests of a site are charged by a machine instruction: `width` bytes a lane, `kind` by the rules of
    `hardware.banks`."""

    width: int
    kind: AccessKind


def passes(requests: Iterable[Request], charge: Charge, start: int, layout: Layout | None) -> int:
    """Wavefronts of requests to an array that begins at offset `start`, in a layout or as it is."""
    return sum(_passes(request, charge, start, layout) for request in requests)


def _passes(request: Request, charge: Charge, start: int, layout: Layout | None) -> int:
    # The machine may access more at once than PTX asked for: the address is that of the first.
    places = [at // charge.width * charge.width for at in request.addresses]
    if layout is not None:
        places = [start + layout.place(max(0, at - start)) for at in places]
    return wavefronts(places, request.mask, charge.width, charge.kind)


def candidates(requests: Sequence[Request], size: int, width: int) -> list[Layout]:
    """Layouts to try for an array of `size` bytes that is accessed by at most `width` bytes at once, the simplest
    first."""
    found = []
    for pitch in _pitches(requests, size, width):
        found += [Layout(pitch, width, padding=n * width) for n in range(1, _MOST_PADDING + 1)]
        units = pitch // width
        if units > 1 and units & (units - 1) == 0:
            found.append(Layout(pitch, width, swizzled=True))
    return found


def _pitches(requests: Sequence[Request], size: int, width: int) -> list[int]:
    """Lengths that rows may have: the distances between neighbouring lanes, and the row of all banks."""
    steps: Counter[int] = Counter()
    for request in requests:
        on = active(request)
        steps.update(
            abs(request.addresses[b] - request.addresses[a])
            for a, b in pairwise(on)
            if request.addresses[a] != request.addresses[b]
        )
    total = steps.total()
    rows = [
        step
        for step, times in sorted(steps.items(), key=lambda item: (-item[1], item[0]))
        if times >= _COMMON * total and width < step <= size // 2 and step % width == 0
    ]
    if size > ROW_OF_BANKS and ROW_OF_BANKS % width == 0:
        rows.append(ROW_OF_BANKS)
    return list(dict.fromkeys(rows))[:_MOST_PITCHES]


def distinct(requests: Iterable[Request], most: int) -> list[Request]:
    """Requests that differ in their lanes or addresses, no more than `most`, from all of the list."""
    every = list({(r.mask, r.addresses): r for r in requests}.values())
    return every[:: max(1, -(-len(every) // most))]


def step_of(request: Request) -> int | None:
    """The one distance of neighbouring lanes that took part; None where there is more than one."""
    on = active(request)
    steps = {request.addresses[b] - request.addresses[a] for a, b in pairwise(on)}
    return steps.pop() if len(steps) == 1 and len(on) <= WARP else None
