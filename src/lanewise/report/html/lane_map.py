"""Where the lanes of one request go: to sectors of global memory, to banks of shared memory. No library draws that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lanewise.hardware import banks, coalescing
from lanewise.hardware.coalescing import LINE_BYTES, SECTOR_BYTES, WARP
from lanewise.records import LaneSample, Space

# Units of the drawing. Boxes of lanes and banks lie one PITCH apart, those of sectors too unless there are more.
PITCH, BOX, LEFT = 20.0, 18.0, 8.0
WIDTH = 2 * LEFT + WARP * PITCH
LANES_BOTTOM, TARGETS_TOP, TARGETS_BOTTOM = 38.0, 128.0, 150.0


@dataclass(frozen=True, slots=True)
class Target:
    """A sector or a bank: its box in the drawing, how full it is, who comes to it."""

    name: str  # "0x7f20", "bank 3"
    x: float
    width: float
    fill: float  # height of the part that is used
    words: str  # shown below the box
    used: int  # bytes of a sector, distinct words of a bank
    lanes: str  # "0-7, 9"


@dataclass(frozen=True, slots=True)
class LaneMap:
    """`links` and `on` are SVG paths. `actual` and `ideal` are sectors or wavefronts."""

    sample: LaneSample
    links: str
    on: str  # the boxes of lanes that take part
    targets: tuple[Target, ...]
    actual: int
    ideal: int
    active: int

    @property
    def to_banks(self) -> bool:
        return self.sample.space is Space.SHARED


def lane_map(sample: LaneSample) -> LaneMap | None:
    """None for memory that is not drawn (constant, local, textures), and where no lane took part."""
    lanes = [lane for lane, offset in enumerate(sample.lanes[:WARP]) if offset is not None]
    if sample.space not in (Space.GLOBAL, Space.SHARED) or not lanes or sample.width_bits < 8:
        return None
    addresses = [sample.base + (offset or 0) for offset in sample.lanes[:WARP]]
    addresses += [0] * (WARP - len(addresses))
    mask = sum(1 << lane for lane in lanes)
    width = sample.width_bits // 8
    if sample.space is Space.SHARED:
        actual = banks.wavefronts(addresses, mask, width, sample.kind)
        ideal = banks.wavefronts_ideal(addresses, mask, width, sample.kind)
        targets, hits = _banks(addresses, lanes, width)
    else:
        actual = coalescing.sectors(addresses, mask, width)
        ideal = coalescing.sectors_ideal(addresses, mask, width)
        targets, hits = _sectors(addresses, lanes, width)
    links = "".join(
        f"M{_lane_x(lane) + BOX / 2:g} {LANES_BOTTOM:g}L{targets[at].x + targets[at].width / 2:g} {TARGETS_TOP:g}"
        for lane, at in hits
    )
    on = "".join(f"M{_lane_x(lane):g} 20h{BOX:g}v18h-{BOX:g}z" for lane in lanes)
    return LaneMap(sample, links, on, tuple(targets), actual, ideal, len(lanes))


def _lane_x(lane: int) -> float:
    return LEFT + lane * PITCH + (PITCH - BOX) / 2


Hits = list[tuple[int, int]]  # lane, place of its target


def _banks(addresses: Sequence[int], lanes: Sequence[int], width: int) -> tuple[list[Target], Hits]:
    of_bank: dict[int, set[int]] = defaultdict(set)
    words: dict[int, set[int]] = defaultdict(set)
    for lane in lanes:
        for bank, found in banks.words_by_bank([addresses[lane]], width).items():
            words[bank] |= found
            of_bank[bank].add(lane)
    targets = [
        Target(
            str(bank),
            _lane_x(bank),
            BOX,
            22.0 if words[bank] else 0.0,
            str(len(words[bank])) if words[bank] else "",
            len(words[bank]),
            ranges(of_bank[bank]),
        )
        for bank in range(banks.BANKS)
    ]
    return targets, sorted((lane, bank) for bank, came in of_bank.items() for lane in came)


def _sectors(addresses: Sequence[int], lanes: Sequence[int], width: int) -> tuple[list[Target], Hits]:
    came: dict[int, set[int]] = defaultdict(set)
    used: dict[int, set[int]] = defaultdict(set)
    for lane in lanes:
        for byte in range(addresses[lane], addresses[lane] + width):
            came[byte // SECTOR_BYTES].add(lane)
            used[byte // SECTOR_BYTES].add(byte)
    order = sorted(came)
    pitch = min(PITCH, WARP * PITCH / len(order))
    left = LEFT + (WARP * PITCH - pitch * len(order)) / 2
    targets, hits = [], []
    for place, sector in enumerate(order):
        # Sectors of one line of 128 bytes stand closer together.
        new_line = place == 0 or order[place - 1] * SECTOR_BYTES // LINE_BYTES != sector * SECTOR_BYTES // LINE_BYTES
        inset = pitch * (0.15 if new_line else 0.03)
        share = len(used[sector]) / SECTOR_BYTES
        targets.append(
            Target(
                f"{sector * SECTOR_BYTES:#x}",
                round(left + place * pitch + inset, 2),
                round(pitch - inset, 2),
                round(22 * share, 2),
                str(len(used[sector])),
                len(used[sector]),
                ranges(came[sector]),
            )
        )
        hits += [(lane, place) for lane in sorted(came[sector])]
    return targets, sorted(hits)


def ranges(numbers: Iterable[int]) -> str:
    """`0-7, 9`."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
