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
_DEPTH = TARGETS_BOTTOM - TARGETS_TOP


@dataclass(frozen=True, slots=True)
class Target:
    """A sector or a bank: its box in the drawing, how full it is, who comes to it."""

    name: str  # "0x7f20", "bank 3"
    x: float
    width: float
    fill: float  # height of the part that is used
    used: int  # bytes of a sector, distinct words of a bank
    lanes: str  # "0-7, 9"


@dataclass(frozen=True, slots=True)
class LaneMap:
    """`links`, `on`, `boxes` and `used` are SVG paths. `actual` and `ideal` are sectors or wavefronts."""

    sample: LaneSample
    links: str
    on: str  # the boxes of lanes that take part
    boxes: str  # of sectors; those of banks are always the same
    used: str  # the parts of boxes that are asked for
    targets: tuple[Target, ...]  # that are asked for
    alike: int | None  # what all targets have in common as `used`
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
    boxes = "".join(f"M{t.x:g} {TARGETS_BOTTOM:g}v-{_DEPTH:g}h{t.width:g}v{_DEPTH:g}z" for t in targets)
    used = "".join(f"M{t.x:g} {TARGETS_BOTTOM:g}v-{t.fill:g}h{t.width:g}v{t.fill:g}z" for t in targets if t.used)
    asked = tuple(target for target in targets if target.used)
    different = {target.used for target in asked}
    alike = different.pop() if len(different) == 1 and len(asked) > 1 else None
    return LaneMap(sample, links, on, boxes, used, asked, alike, actual, ideal, len(lanes))


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
            _DEPTH,
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
                round(left + place * pitch + inset, 1),
                round(pitch - inset, 1),
                round(_DEPTH * share, 1),
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
