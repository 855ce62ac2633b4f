"""How far an access is from its ideal, and in which words: global memory in sectors, shared memory in wavefronts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from lanewise.catalogue import Catalogue
from lanewise.hardware.banks import BANKS
from lanewise.hardware.coalescing import WARP, WORD_BYTES
from lanewise.records import Access, AccessKind, Pattern, Space
from lanewise.report import text

SECTORS, WAVEFRONTS = "sectors", "wavefronts"
_TYPE = re.compile(r"(?:[fsu]|bf)\d+(?:x\d+)?")  # a type with a meaning, where b32 says only bits


class Weight(IntEnum):
    """How much a line stands out. FINE: less than 10 % over the ideal. BAD: twice the ideal or more, and the excess is
    5 % or more (of the line) of what the kernel moves in that space. POOR: between them."""

    FINE = 0
    POOR = 1
    BAD = 2


MARKS = {Weight.FINE: "", Weight.POOR: "!", Weight.BAD: "!!"}


@dataclass(frozen=True, slots=True)
class Cost:
    """What an access took beside the least it could: both in `unit`, summed over its requests."""

    unit: str
    actual: int
    ideal: int

    @property
    def excess(self) -> int:
        return max(self.actual - self.ideal, 0)


# What an excess weighs against another, for their order alone: on an H200 the naive transpose pays 57 us for its 3.7
# million sectors too many, the one with 32-way conflicts 15 us for its 4.1 million wavefronts.
RANK = {SECTORS: 4, WAVEFRONTS: 1}


def cost(access: Access) -> Cost | None:
    """The access in the unit of its space; None where nothing is counted but requests (constant memory)."""
    for unit, actual, ideal in (
        (SECTORS, access.sectors, access.sectors_ideal),
        (WAVEFRONTS, access.wavefronts, access.wavefronts_ideal),
    ):
        if actual is not None:
            return Cost(unit, actual, actual if ideal is None else ideal)
    return None


def totals(accesses: Iterable[Access]) -> dict[Space, Cost]:
    """The cost of all accesses to each space; spaces without one are left out."""
    summed: dict[Space, Cost] = {}
    for access in accesses:
        measured = cost(access)
        if measured is not None:
            before = summed.get(access.space, Cost(measured.unit, 0, 0))
            both = (before.actual + measured.actual, before.ideal + measured.ideal)
            summed[access.space] = Cost(measured.unit, *both)
    return summed


def access_weight(access: Access, line_excess: int, kernel_total: int) -> Weight:
    """`line_excess`: of all accesses of the line to the same space; `kernel_total`: what the kernel moves there."""
    if access.space is Space.CONST:
        # One address at a time: 32 different ones took an H200 some 80 times as long.
        return Weight.FINE if access.pattern in (None, Pattern.BROADCAST) else Weight.BAD
    measured = cost(access)
    if measured is None or measured.excess == 0 or 10 * measured.actual < 11 * measured.ideal:
        return Weight.FINE
    costly = 20 * line_excess >= kernel_total
    return Weight.BAD if costly and measured.actual >= 2 * measured.ideal else Weight.POOR


def pattern_words(access: Access, words: Catalogue, *, short: bool = False) -> str:
    """broadcast, contiguous, strided by 8,192 bytes, scattered; empty where it is not known.

    A contiguous access that takes more sectors than its ideal is one whose runs start or end inside a sector (or whose
    lanes are partly off, which `lane_words` says); one of shared memory that takes more wavefronts consists of several
    runs that share banks.
    """
    if access.pattern is None:
        return ""
    costly = access.sectors is not None and access.sectors > (access.sectors_ideal or 0)
    if access.pattern is Pattern.CONTIGUOUS and costly and not _lanes_off(access):
        return words.say("pattern.off_sectors")
    if access.pattern is Pattern.CONTIGUOUS and _conflicts(access):
        return words.say("pattern.runs")
    if access.pattern is Pattern.STRIDED and access.stride_bytes is not None:
        key = "pattern.strided_by_short" if short else "pattern.strided_by"
        return words.say(key, stride=text.count(access.stride_bytes))
    return words.say(f"pattern.{access.pattern.value}")


def conflict_words(access: Access, words: Catalogue) -> str:
    """`32-way conflict` where a shared access takes more wavefronts than its ideal, else empty."""
    if not _conflicts(access):
        return ""
    return words.say("pattern.conflict", ways=text.per(access.wavefronts or 0, access.wavefronts_ideal or 0))


def _conflicts(access: Access) -> bool:
    actual, ideal = access.wavefronts, access.wavefronts_ideal
    return actual is not None and ideal is not None and 0 < ideal < actual


def bank_words(access: Access, words: Catalogue) -> str:
    """Which lanes meet in a bank, where the stride alone decides it (loads and stores up to 4 bytes a lane).

    Lanes `32 / gcd(stride in words, 32)` apart fall into one bank; said only where it explains the count.
    """
    stride, wavefronts = access.stride_bytes, access.wavefronts
    plain = access.kind is not AccessKind.ATOMIC and access.width_bits <= 8 * WORD_BYTES
    if access.space is not Space.SHARED or not stride or stride % WORD_BYTES or not plain:
        return ""
    ways = math.gcd(stride // WORD_BYTES, BANKS)
    if ways == 1 or wavefronts != ways * access.requests:
        return ""
    if ways == BANKS:
        return words.say("pattern.one_bank")
    return words.say("pattern.banks", apart=str(BANKS // ways))


def lane_words(access: Access, words: Catalogue, *, short: bool = False) -> str:
    """`1 of 32 lanes` where a quarter or more of the lanes take no part, else empty."""
    if not _lanes_off(access):
        return ""
    key = "pattern.lanes_short" if short else "pattern.lanes"
    return words.say(key, lanes=text.per(access.threads_on, access.requests))


def _lanes_off(access: Access) -> bool:
    return access.requests > 0 and 4 * access.threads_on <= 3 * WARP * access.requests


def unit_words(measured: Cost, each: str, words: Catalogue) -> str:
    """sectors, wavefronts; sector, wavefront where there is `each` "1" of it."""
    return words.say(f"access.{measured.unit.removesuffix('s') if each == '1' else measured.unit}")


def value_type(access: Access) -> tuple[str, str]:
    """How many values a lane moves (empty for one), and their type as PTX names it; empty where PTX only says bits.
    Machine code may move more of them at once than PTX does."""
    modifiers = access.opcode.split(".")[1:]
    many = next((m[1:] for m in modifiers if m in ("v2", "v4", "v8")), "")
    kind = next((m for m in reversed(modifiers) if _TYPE.fullmatch(m)), "")
    if kind and access.basis == "sass":
        one = math.prod(map(int, re.findall(r"\d+", kind)))
        values, rest = divmod(access.width_bits, one)
        many = str(values) if rest == 0 and values > int(many or 1) else many
    return many, kind


def type_words(access: Access, words: Catalogue) -> str:
    """The type as PTX names it, or its width where PTX only says bits: f32, 4 x f32, 32-bit, 4 x 32-bit."""
    many, kind = value_type(access)
    if not kind and access.width_bits:
        kind = words.say("pattern.bits", bits=str(access.width_bits // int(many or 1)))
    return f"{many} x {kind}" if many else kind
