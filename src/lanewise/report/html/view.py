"""What the page shows of a result, ready for the templates: numbers as text, drawings as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lanewise.catalogue import Catalogue, parts
from lanewise.hardware.coalescing import LINE_BYTES
from lanewise.records import Finding, LaneSample, LaunchRecord, RunResult, Unit
from lanewise.report import advice, facts, text
from lanewise.report.check import all_findings, summary_sentences
from lanewise.report.excerpt import basename, excerpt
from lanewise.report.executed import as_executed
from lanewise.report.findings import use_words, where_words
from lanewise.report.fold import Fold, fold_launches, worth_showing
from lanewise.report.html.charts import Curve, Point, occupancy_curves, roofline_points
from lanewise.report.html.heat import HeatFile, Sources, heat_files
from lanewise.report.html.hierarchy import Flow, flows
from lanewise.report.judge import Weight
from lanewise.report.lane_map import LaneMap, lane_map
from lanewise.report.legend import legend
from lanewise.report.terminal import left_out, summary
from lanewise.report.timing import bound_words, microseconds, timing_facts
from lanewise.report.verdict import Problem, praise, problems

MOST_UNITS = 8
MOST_WORTH = 5
MOST_MAPS = 8  # of one kernel; the requests farthest from their ideal
MOST_TIMES = 200


@dataclass(frozen=True, slots=True)
class AdviceView:
    """One piece of advice, in sentences."""

    number: str
    message: str
    place: str
    body: tuple[str, ...]
    price: str
    change: str
    gain: str
    before_us: float
    after_us: float
    commands: tuple[str, ...]
    maps: tuple[MapView, ...]


@dataclass(frozen=True, slots=True)
class MapView:
    title: str
    drawn: LaneMap


@dataclass(frozen=True, slots=True)
class FindingView:
    """A fault or the result of a check."""

    severity: str  # as the style sheet knows it
    heading: str
    check: str
    message: str
    where: str
    evidence: tuple[str, ...]
    next_step: str
    times: int


@dataclass(frozen=True, slots=True)
class KernelView:
    """One fold. `number` as in the terminal; sentences of the terminal's report where nothing else is said."""

    number: int
    name: str
    full_name: str
    shape: str
    launches: int
    per_launch: bool
    completed: bool
    alone: bool  # whether the kernel has no other fold to be told from
    first_launch: int
    facts: tuple[str, ...]
    next_step: str
    findings: tuple[FindingView, ...]
    advice: tuple[AdviceView, ...]
    verdict: tuple[str, ...]  # where no change is worth it
    files: tuple[HeatFile, ...]
    maps: tuple[MapView, ...]
    flows: tuple[Flow, ...]
    units: tuple[Unit, ...]
    curves: tuple[Curve, ...]
    times: tuple[str, ...]
    weight: Weight
    only_diverges: bool  # the weight is that of branches, not of accesses
    time_us: float | None  # of the last launch
    total_us: float | None
    saved_us: float
    saved_percent: int
    bound: str
    occupancy: int | None  # percent
    roof: str  # "DRAM 93%"
    roof_share: float


@dataclass(frozen=True, slots=True)
class WorthView:
    number: str
    place: str
    change: str
    kernel: str
    saved: str


@dataclass(frozen=True, slots=True)
class PageView:
    summary: str
    checked: tuple[str, ...]  # what checks looked at
    kernels: tuple[KernelView, ...]
    left_out: tuple[str, ...]  # which kernels have folds that are not shown
    worth: tuple[WorthView, ...]
    roofline: tuple[Point, ...]
    findings: tuple[FindingView, ...]
    unsupported: tuple[tuple[str, str, tuple[str, ...]], ...]  # what, why, where
    legend: tuple[tuple[str, str], ...]


def page_view(result: RunResult, words: Catalogue) -> PageView:
    folds = fold_launches(result.launches)
    shown = worth_showing(folds)
    sources = Sources(result.sources)
    blocks_of = Counter(fold.first.symbol for fold in folds)
    kernels = tuple(
        _kernel(number, fold, result, sources, words, alone=blocks_of[fold.first.symbol] == 1)
        for number, (fold, show) in enumerate(zip(folds, shown, strict=True), start=1)
        if show
    )
    numbered = [(number, fold) for number, (fold, show) in enumerate(zip(folds, shown, strict=True), 1) if show]
    in_launches = {finding for launch in result.launches for finding in launch.findings}
    of_run = Counter(finding for finding in result.findings if finding not in in_launches)
    uses: dict[tuple[str, str], list[str]] = {}
    for item in result.unsupported:
        uses.setdefault((item.what, item.reason), []).append(use_words(item, words, result.program))
    return PageView(
        summary=summary(result, folds, words),
        checked=tuple(summary_sentences(result.check, all_findings(result), words)) if result.check is not None else (),
        kernels=kernels,
        left_out=tuple(left_out(folds, shown, words)),
        worth=tuple(_worth(found, words) for found in advice.most_worth(numbered)[:MOST_WORTH]),
        roofline=roofline_points(
            [(number, text.kernel_name(fold.first.kernel), fold.first.roof) for number, fold in numbered]
        ),
        findings=tuple(_finding(finding, times, words, result.program) for finding, times in of_run.items()),
        unsupported=tuple((what, why, tuple(dict.fromkeys(where))) for (what, why), where in uses.items()),
        legend=tuple(
            legend(
                [access for _, fold in numbered for access in fold.accesses],
                max((kernel.weight for kernel in kernels), default=Weight.FINE),
                words,
            )
        ),
    )


def _kernel(
    number: int, fold: Fold, result: RunResult, sources: Sources, words: Catalogue, *, alone: bool
) -> KernelView:
    first = fold.first
    rows = excerpt(fold, result.sources)
    code = next((code for code in result.code if code.symbol == first.symbol), None)
    found = problems(fold, rows, words)
    times = [time for time in fold.times if time is not None]
    before, after = _best(first)
    with_advice = {_sameness(sample) for finding in first.advice for sample in finding.samples}
    roof, share = _nearest_roof(first)
    return KernelView(
        number=number,
        name=text.kernel_name(first.kernel),
        full_name=first.kernel,
        shape=facts.shape(first, words),
        launches=fold.launches,
        per_launch=fold.per_launch,
        completed=first.completed,
        alone=alone,
        first_launch=first.id,
        facts=tuple(
            fact
            for fact in (
                *timing_facts(fold, words),
                facts.resources(first, words),
                facts.occupancy(first, words),
                facts.executions(fold, words),
            )
            if fact
        ),
        next_step=words.retell(first.occupancy.next_step or "") if first.occupancy is not None else "",
        findings=tuple(_finding(finding, count, words, result.program) for finding, count in fold.findings),
        advice=tuple(
            _advice(finding, first, advice.number(number, place), words)
            for place, finding in enumerate(first.advice, 1)
        ),
        verdict=_verdict(fold, found, words),
        files=heat_files(fold, rows, code, sources, words, result.program),
        maps=_maps([s for s in first.samples if _sameness(s) not in with_advice], first, words)[:MOST_MAPS],
        flows=flows(first),
        units=tuple(unit for unit in first.units[:MOST_UNITS] if unit.share >= 0.005),
        curves=occupancy_curves(first),
        times=tuple(microseconds(time) for time in times[:MOST_TIMES]) if len(times) > 1 else (),
        weight=max((row.weight for row in rows), default=Weight.FINE),
        only_diverges=any(row.branch_weight for row in rows)
        and not any(access.weight for row in rows for access in row.accesses),
        time_us=times[-1] if times else None,
        total_us=sum(times) if times else None,
        saved_us=before - after,
        saved_percent=round(100 * (before - after) / before) if before else 0,
        bound=bound_words(first.bound, words),
        occupancy=round(100 * first.occupancy.fraction) if first.occupancy is not None else None,
        roof=f"{roof} {text.share(share)}" if roof else "",
        roof_share=share,
    )


def _best(launch: LaunchRecord) -> tuple[float, float]:
    """Before and after the change that saves most; zeros where there is none."""
    gains = [finding.gain for finding in launch.advice if finding.gain is not None]
    best = max(gains, key=lambda gain: gain.before_us - gain.after_us, default=None)
    return (best.before_us, best.after_us) if best is not None else (0.0, 0.0)


def _nearest_roof(launch: LaunchRecord) -> tuple[str, float]:
    """The nearer of DRAM and arithmetic, of a launch that needs neither the L2, with the share of it that is reached.
    An empty name where no time is modelled."""
    roof = launch.roof
    if roof is None:
        return "", 0.0
    dram, flops = roof.dram_gb_s / roof.dram_roof_gb_s, roof.gflops / roof.gflops_roof
    if not dram and not flops:
        return "L2", roof.l2_gb_s / roof.l2_roof_gb_s
    return ("DRAM", dram) if dram >= flops else ("FLOP/s", flops)


def _verdict(fold: Fold, found: Sequence[Problem], words: Catalogue) -> tuple[str, ...]:
    """As in the terminal: beside advice what it is not about, and that nothing is left where no change is worth it;
    without advice what is far from its ideal, or that nothing is."""
    first = fold.first
    if first.advised:
        worth = any(finding.gain is not None for finding in first.advice)
        others = advice.not_advised(first, found, words)
        return (*others, *(() if worth else (advice.nothing_left(first, words),)))
    sentences = tuple(problem.sentence for problem in found)
    return sentences or ((praise(fold, words),) if first.completed else ())


def _advice(finding: Finding, launch: LaunchRecord, number: str, words: Catalogue) -> AdviceView:
    gain = finding.gain
    return AdviceView(
        number=number,
        message=advice.said(finding, "message", words) or finding.message,
        place=advice.place(finding, words).removesuffix(": "),
        body=tuple(
            part for part in (*parts(finding, "evidence", words), advice.said(finding, "next_step", words)) if part
        ),
        price=advice.said(finding, "price", words),
        change=advice.said(finding, "change", words),
        gain=advice.gain(finding, words) if gain is not None else "",
        before_us=gain.before_us if gain is not None else 0.0,
        after_us=gain.after_us if gain is not None else 0.0,
        commands=tuple(advice.pointers(finding, number, words)),
        maps=_maps(finding.samples, launch, words),
    )


def _maps(samples: Sequence[LaneSample], launch: LaunchRecord, words: Catalogue) -> tuple[MapView, ...]:
    """Those that can be drawn, the farthest from its ideal first; copies of one access (by unrolling) once."""
    executed = [as_executed(sample, launch) for sample in samples]
    different = {_sameness(sample): sample for sample in reversed(executed)}
    first_of_each = [sample for sample in executed if different[_sameness(sample)] is sample]
    drawn = [(sample, made) for sample in first_of_each if (made := lane_map(sample)) is not None]
    drawn.sort(key=lambda item: -(item[1].actual / max(item[1].ideal, 1)))
    return tuple(MapView(_title(sample, words), made) for sample, made in drawn)


def _sameness(sample: LaneSample) -> LaneSample:
    """The sample without what differs from copy to copy of an access: its line of PTX and where it begins, but for the
    place in a sector or bank."""
    return replace(sample, ptx_line=0, base=sample.base % LINE_BYTES)


def _title(sample: LaneSample, words: Catalogue) -> str:
    """transpose.cu:10, store global `out`, 32 bits."""
    if sample.file is not None and sample.line is not None:
        where = f"{basename(sample.file)}:{sample.line}"
    else:
        where = words.say("access.ptx_line", line=str(sample.ptx_line))
    return words.say(
        "html.map_title_array" if sample.array else "html.map_title",
        place=where,
        kind=f"@kind.{sample.kind.value}",
        space=f"@space.{sample.space.value}",
        array=text.variable_name(sample.array or ""),
        bits=str(sample.width_bits),
    )


def _finding(finding: Finding, times: int, words: Catalogue, program: str) -> FindingView:
    return FindingView(
        finding.severity.value,
        words.say(f"finding.{finding.severity.value}"),
        finding.check,
        words.retell(finding.message),
        where_words(finding, words, program),
        tuple(map(words.retell, finding.evidence)),
        words.retell(finding.next_step or ""),
        times,
    )


def _worth(found: advice.Worth, words: Catalogue) -> WorthView:
    return WorthView(
        found.number,
        advice.place(found.finding, words),
        advice.said(found.finding, "change", words),
        text.kernel_name(found.fold.first.kernel),
        microseconds(found.saved_us),
    )
