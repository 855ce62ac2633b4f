"""One word for how the lanes of a request lie in memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from lanewise.hardware.coalescing import SECTOR_BYTES, active_lanes
from lanewise.records import Pattern


def classify(addresses: Sequence[int], mask: int, width: int) -> tuple[Pattern | None, int | None]:
    """The pattern of one access and its stride in bytes, where it has one (None, None for an empty mask).

    - broadcast: one address (a lone lane too);
    - contiguous: neighbouring lanes `width` bytes apart, up or down; or, in any order and with repeats, one run
      without holes, or runs that each fill at least a 32-byte sector (a block 16 threads wide reads two such rows);
    - strided: the lanes, or their distinct addresses in order, lie one constant step apart, wider than an element; the
      step is signed where it follows the lanes;
    - scattered: anything else.
    """
    lanes = list(active_lanes(mask))
    if not lanes:
        return None, None
    first = lanes[0]
    places = [int(addresses[lane]) for lane in lanes]
    if len(set(places)) == 1:
        return Pattern.BROADCAST, None
    step, rest = divmod(places[1] - places[0], lanes[1] - first)
    if rest == 0 and all(place == places[0] + step * (lane - first) for place, lane in zip(places, lanes, strict=True)):
        return (Pattern.CONTIGUOUS if abs(step) <= width else Pattern.STRIDED), step
    ordered = sorted(set(places))
    gaps = {after - before for before, after in pairwise(ordered)}
    if max(gaps) <= width or _shortest_run(ordered, width) >= SECTOR_BYTES:
        return Pattern.CONTIGUOUS, width
    if len(gaps) == 1:
        return Pattern.STRIDED, gaps.pop()
    return Pattern.SCATTERED, None


def _shortest_run(ordered: Sequence[int], width: int) -> int:
    """Bytes of the shortest run without holes among elements at ascending distinct addresses."""
    shortest, start = ordered[-1] - ordered[0] + width, ordered[0]
    for before, after in pairwise(ordered):
        if after - before > width:
            shortest = min(shortest, before + width - start)
            start = after
    return min(shortest, ordered[-1] + width - start)
