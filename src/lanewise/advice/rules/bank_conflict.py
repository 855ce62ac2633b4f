"""Lanes that ask for different words of one bank of shared memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lanewise.advice.layouts import Charge, Layout, candidates, distinct, passes, step_of
from lanewise.advice.names import is_table
from lanewise.advice.rank import WORTH
from lanewise.advice.rule import Rule, Sentence, advice, say
from lanewise.advice.sampling import Request, active, lane_sample, worst
from lanewise.advice.subject import Subject
from lanewise.advice.trees import tree
from lanewise.advice.tries import SharedArray
from lanewise.emulator.machine import EXCHANGES, CountRule
from lanewise.emulator.unit import SiteInfo
from lanewise.hardware.banks import bank, words_by_bank
from lanewise.hardware.coalescing import WORD_BYTES
from lanewise.hardware.occupancy import occupancy
from lanewise.model.placement import Placement
from lanewise.records import AccessKind, Finding, Space, Tried
from lanewise.sass.costs import AccessCost

NAME = "bank_conflict"
_OF_A_SITE = 32  # requests that layouts are tried on
_AS_GOOD = 1.01  # times of layouts that differ by less are taken as equal: the simpler one is given
_FEW = 1.1  # times the fewest wavefronts up to which a layout is timed
_MANY = 4  # words that are named


@dataclass(frozen=True, slots=True)
class Use:
    """A machine instruction that accesses an array, and requests that it made."""

    cost: AccessCost
    charge: Charge
    requests: Sequence[Request]

    @property
    def key(self) -> tuple[int, Charge]:
        """Of the access of PTX, and how it is charged."""
        return self.requests[0].site, self.charge

    @property
    def excess(self) -> int:
        return (self.cost.wavefronts or 0) - (self.cost.wavefronts_ideal or 0)


@dataclass(frozen=True, slots=True)
class Result:
    """A launch with another layout of an array: its time, the wavefronts of each use, what it takes."""

    layout: Layout
    time_us: float
    wavefronts: tuple[int, ...]
    extra_bytes: int
    active_warps: int


def find(subject: Subject) -> Iterable[Finding]:
    conflicting = [c for c in _shared(subject) if (c.wavefronts or 0) > (c.wavefronts_ideal or 0)]
    if not _worth(subject, _time(subject, {id(c): c.wavefronts_ideal or 0 for c in conflicting})):
        return
    by_site = _by_site(subject)
    for array in subject.tries.arrays():
        uses = _uses(subject, array, by_site)
        excess = [use for use in uses if use.excess > 0]
        ideal = _time(subject, {id(use.cost): use.cost.wavefronts_ideal or 0 for use in excess})
        if excess and _worth(subject, ideal):
            yield _finding(subject, array, uses, max(excess, key=lambda use: use.excess))


def _worth(subject: Subject, time_us: float) -> bool:
    return subject.time_us - time_us >= WORTH * subject.time_us


def _shared(subject: Subject) -> list[AccessCost]:
    return [c for c in subject.costs.accesses if c.space == Space.SHARED and c.requests and c.site is not None]


def _by_site(subject: Subject) -> dict[int, list[Request]]:
    """Different requests of shared memory, by site."""
    found: dict[int, list[Request]] = {}
    for request in subject.tries.requests():
        if subject.sites[request.site].space == Space.SHARED:
            found.setdefault(request.site, []).append(request)
    return {site: distinct(made, _OF_A_SITE) for site, made in found.items()}


def _uses(subject: Subject, array: SharedArray, by_site: Mapping[int, list[Request]]) -> list[Use]:
    """All accesses to an array. Empty where one of them is not charged by the addresses of its lanes alone, or reaches
    beyond the array too: its layout is not free then."""
    lines = {(site.module, site.ptx_line): site.index for site in subject.sites if site.recount is None}
    uses = []
    for cost in _shared(subject):
        assert cost.site is not None
        made = by_site.get(lines.get((cost.site.site.module, cost.site.site.ptx_line), -1), [])
        within = [_lies_in(request, array) for request in made]
        if not any(within):
            continue
        charge = _charge(cost)
        if charge is None or not all(within):
            return []
        uses.append(Use(cost, charge, made))
    return uses


def _lies_in(request: Request, array: SharedArray) -> bool:
    return all(array.start <= request.addresses[lane] < array.start + array.size for lane in active(request))


def _charge(cost: AccessCost) -> Charge | None:
    """None: not by the banks that lanes ask for."""
    width = cost.access.instruction.width_bits // 8
    if cost.access.ptx is not None and cost.access.ptx.in_pieces:
        return None
    rule = cost.access.recount.rule if cost.access.recount is not None else None
    if rule in EXCHANGES:
        return None
    assert cost.site is not None
    kind = cost.site.site.kind
    if rule == CountRule.WORDS:
        kind = AccessKind.LOAD
    return Charge(width, kind) if width in (1, 2, 4, 8, 16) else None


def _time(subject: Subject, wavefronts: dict[int, int], placed: Placement | None = None) -> float:
    """Of the launch with other wavefronts, by id of the cost."""
    costs = tuple(
        replace(c, wavefronts=wavefronts[id(c)]) if id(c) in wavefronts else c for c in subject.costs.accesses
    )
    return subject.retime(subject.asked(costs=replace(subject.costs, accesses=costs), placed=placed), placed)


# ---------------------------------------------------------------------- layouts
def _tried(subject: Subject, array: SharedArray, uses: Sequence[Use]) -> tuple[list[Result], int]:
    """The layouts that fit the device and take about the fewest wavefronts, in the order of `candidates`, with their
    times; and how many were looked at."""
    width = max(use.charge.width for use in uses)
    now = _passes(uses, array, None)
    conflicting = [r for use in uses if use.excess > 0 for r in use.requests]
    counted = []
    for layout in candidates(conflicting, array.size, width):
        placed = _placed(subject, array, layout.extra_bytes(array.size))
        if placed is not None:
            then = _passes(uses, array, layout)
            counted.append((layout, placed, [_scaled(*item) for item in zip(uses, now, then, strict=True)]))
    fewest = min((sum(wavefronts) for _, _, wavefronts in counted), default=0)
    results = []
    for layout, placed, wavefronts in counted:
        if sum(wavefronts) <= _FEW * fewest:
            changed = {id(use.cost): count for use, count in zip(uses, wavefronts, strict=True)}
            time_us = _time(subject, changed, placed)
            warps = placed.blocks_per_sm * placed.warps_per_block
            results.append(Result(layout, time_us, tuple(wavefronts), layout.extra_bytes(array.size), warps))
    return results, len(counted)


def _scaled(use: Use, before: int, after: int) -> int:
    """Wavefronts of a use in the whole launch, from those of the requests that are known."""
    wavefronts = use.cost.wavefronts or 0
    return round(wavefronts * after / before) if before else wavefronts


def _passes(uses: Sequence[Use], array: SharedArray, layout: Layout | None) -> list[int]:
    """Of the requests of each use; the copies of an access that unrolling made have the same."""
    known: dict[tuple[int, Charge], int] = {}
    for use in uses:
        if use.key not in known:
            known[use.key] = passes(use.requests, use.charge, array.start, layout)
    return [known[use.key] for use in uses]


def _placed(subject: Subject, array: SharedArray, extra_bytes: int) -> Placement | None:
    """Where the blocks go when an array takes more shared memory; None where they do not fit."""
    record = subject.record
    resources = record.resources
    assert resources is not None
    resources = replace(resources, static_shared_bytes=resources.static_shared_bytes + extra_bytes)
    if not array.dynamic and resources.static_shared_bytes > subject.spec.limits.shared_per_block:
        return None
    found = occupancy(
        subject.spec,
        threads_per_block=record.block[0] * record.block[1] * record.block[2],
        registers_per_thread=resources.registers,
        static_shared=resources.static_shared_bytes,
        dynamic_shared=record.dynamic_shared_bytes,
    )
    return Placement.of(subject.spec, replace(record, resources=resources, occupancy=found))


def _best(results: Sequence[Result]) -> Result | None:
    """The simplest of the fastest."""
    fastest = min((result.time_us for result in results), default=0.0)
    return next((result for result in results if result.time_us <= _AS_GOOD * fastest), None)


# ---------------------------------------------------------------------- words
def _finding(subject: Subject, array: SharedArray, uses: Sequence[Use], use: Use) -> Finding:
    charge = use.charge
    shown = worst(use.requests, lambda r: passes([r], charge, array.start, None))
    assert shown is not None
    assert use.cost.site is not None
    site = use.cost.site.site
    results, tried = _tried(subject, array, uses)
    best = _best(results)
    message, evidence = _message(subject, array, use, shown), [_evidence(use)]
    samples = (lane_sample(shown, subject.sites[shown.site]),)
    if best is None or not _worth(subject, best.time_us):
        return advice(
            NAME,
            subject.record,
            message=message,
            evidence=evidence,
            next_step=say("bank_conflict.nothing_helps", tried=str(tried)),
            source=site.source,
            ptx_line=site.ptx_line,
            samples=samples,
        )
    return advice(
        NAME,
        subject.record,
        message=message,
        evidence=evidence,
        change=_change(best.layout),
        next_step=_next_step(best, array, use.cost, best.wavefronts[uses.index(use)]),
        price=_price(subject, best),
        after_us=best.time_us,
        tried=Tried.REEVALUATED,
        rung=_rung(subject, array, site, best.layout),
        source=site.source,
        ptx_line=site.ptx_line,
        samples=samples,
    )


def _message(subject: Subject, array: SharedArray, use: Use, shown: Request) -> Sentence:
    places = {lane: shown.addresses[lane] // use.charge.width * use.charge.width for lane in active(shown)}
    banks = words_by_bank(places.values(), min(use.charge.width, WORD_BYTES))
    most = max(banks, key=lambda number: (len(banks[number]), -number))
    lanes = [lane for lane, place in places.items() if bank(place) == most]
    words = sorted((word * WORD_BYTES - array.start) // WORD_BYTES for word in banks[most])
    assert use.cost.site is not None
    values = {
        "ways": f"{(use.cost.wavefronts or 0) / max(1, use.cost.wavefronts_ideal or 0):.3g}",
        "kind": f"@kind.{use.cost.site.site.kind.value}",
        "array": array.name,
        "lanes": _ranges(lanes),
        "bank": str(most),
    }
    step = step_of(shown)
    if step is None:
        return say("bank_conflict.message", words=_listed(words), count=str(len(words)), **values)
    element = _element(subject, array, shown, step, words)
    return say("bank_conflict.message_strided", element=element, stride=f"{abs(step):,}", **values)


def _element(subject: Subject, array: SharedArray, shown: Request, step: int, words: Sequence[int]) -> str:
    """`t[0..31][5]` where the step is that of whole rows of a table, else its words."""
    first = min(shown.addresses[lane] for lane in active(shown)) - array.start
    row, column = divmod(first, abs(step)) if step else (0, first)
    assert subject.sites[shown.site] is not None
    width = subject.sites[shown.site].width_bits // 8
    if is_table(subject.sites[shown.site].source, subject.sources, array.name) and array.size % abs(step or 1) == 0:
        return f"{array.name}[{row}..{row + len(active(shown)) - 1}][{column // width}]"
    return f"{array.name}, words {_listed(words)}"


def _rung(subject: Subject, array: SharedArray, site: SiteInfo, layout: Layout) -> str:
    steps = tree(subject)
    if steps is not None and steps.array == array.name:
        return "scan blelloch_padded" if steps.scan else "reduce sequential"
    if layout.swizzled:
        return "banks swizzled"
    return "transpose padded" if is_table(site.source, subject.sources, array.name) else "banks pitch_33"


def _evidence(use: Use) -> Sentence:
    requests = max(1, use.cost.requests)
    return say(
        "bank_conflict.wavefronts",
        wavefronts=f"{(use.cost.wavefronts or 0) / requests:.3g}",
        ideal=f"{(use.cost.wavefronts_ideal or 0) / requests:.3g}",
    )


def _change(layout: Layout) -> Sentence:
    if layout.swizzled:
        return say("bank_conflict.swizzle_change")
    whole = layout.pitch % WORD_BYTES == layout.padding % WORD_BYTES == 0
    key = "bank_conflict.pad_change" if whole else "bank_conflict.pad_change_bytes"
    unit = WORD_BYTES if whole else 1
    return say(key, new=f"{(layout.pitch + layout.padding) // unit:,}", old=f"{layout.pitch // unit:,}")


def _next_step(best: Result, array: SharedArray, cost: AccessCost, wavefronts: int) -> Sentence:
    layout = best.layout
    values = {"array": array.name, "pitch": f"{layout.pitch:,}", "unit": str(layout.unit)}
    if not layout.swizzled:
        values["padding"] = f"{layout.padding:,}"
    if wavefronts <= _AS_GOOD * (cost.wavefronts_ideal or 0):
        return say("bank_conflict.swizzle" if layout.swizzled else "bank_conflict.pad", **values)
    values["left"] = f"{wavefronts / cost.requests:.3g}"
    return say("bank_conflict.swizzle_part" if layout.swizzled else "bank_conflict.pad_part", **values)


def _price(subject: Subject, best: Result) -> Sentence:
    occupied = subject.record.occupancy
    assert occupied is not None
    if best.layout.swizzled:
        return say("bank_conflict.swizzle_price")
    now, then = occupied.active_warps, best.active_warps
    values = {"bytes": f"{best.extra_bytes:,}", "before": f"{100 * now / occupied.max_warps:.0f}"}
    if now == then:
        return say("bank_conflict.pad_price", **values)
    return say("bank_conflict.pad_price_occupancy", after=f"{100 * then / occupied.max_warps:.0f}", **values)


def _listed(numbers: Sequence[int]) -> str:
    """`0, 32, 64, ..., 992`."""
    if len(numbers) <= _MANY:
        return ", ".join(map(str, numbers))
    return f"{', '.join(map(str, numbers[: _MANY - 1]))}, ..., {numbers[-1]}"


def _ranges(numbers: Sequence[int]) -> str:
    """`0..31`, or `0, 4, 8, ..., 28`."""
    if len(numbers) > 1 and list(numbers) == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]}..{numbers[-1]}"
    return _listed(numbers)


RULE = Rule(
    name=NAME,
    title="Bank conflicts",
    what="Lanes of a warp ask for different words of the same bank of shared memory at once.",
    why="Shared memory has 32 banks of 4-byte words; in one pass each bank gives one word. Words whose numbers differ "
    "by a multiple of 32 lie in one bank: a column of an array with rows of 32 floats takes 32 passes where a row "
    "takes one. Rows of 33 words put a column into 32 different banks. The paddings and swizzles named here were tried "
    "on the addresses of all accesses to the array: a change that helps one access and hurts another is not given.",
    before="__shared__ float tile[32][32];\nout[i] = tile[threadIdx.x][threadIdx.y];  // 32 rows, one column: one bank",
    after="__shared__ float tile[32][33];  // one unused column\nout[i] = tile[threadIdx.x][threadIdx.y];",
    rung="transpose padded",
    find=find,
)
