"""A run with checks: other builds and schedules merged into one result, suppressions applied."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from lanewise.checks import suppressions
from lanewise.records import CheckSummary, Finding, RunResult
from lanewise.request import Build, RunRequest

PLAIN_FLAGS = ("-Xcicc", "-O0")  # no optimisation of device code; ptxas sees what the source says
_NAMES = {Build.OPTIMISED: "the optimised build", Build.PLAIN: "the build without optimisation"}
OneRun = Callable[[RunRequest, int, bool], RunResult]  # (request, schedule, whether its output is shown)


def run_checked(request: RunRequest, run: OneRun) -> RunResult:
    """Run once for each build and schedule asked for; the program's output is shown once."""
    builds = (Build.OPTIMISED, Build.PLAIN) if request.build is Build.BOTH else (request.build,)
    merged: RunResult | None = None
    for build in builds:
        flags = (*request.flags, *PLAIN_FLAGS) if build is Build.PLAIN else request.flags
        for schedule in range(request.schedules):
            result = run(replace(request, flags=flags), schedule, merged is None)
            if len(builds) > 1:
                result = _with_evidence(result, f"seen in {_NAMES[build]}")
            elif build is Build.PLAIN:
                result = replace(result, notes=(*result.notes, f"checked {_NAMES[build]}"))
            merged = result if merged is None else _merge(merged, result)
    assert merged is not None
    return _suppress(merged, request)


def _with_evidence(result: RunResult, sentence: str) -> RunResult:
    def add(findings: Iterable[Finding]) -> tuple[Finding, ...]:
        return tuple(replace(finding, evidence=(*finding.evidence, sentence)) for finding in findings)

    launches = tuple(replace(launch, findings=add(launch.findings)) for launch in result.launches)
    return replace(result, findings=add(result.findings), launches=launches)


def _key(finding: Finding) -> tuple[object, ...]:
    lines = tuple(sorted((str(side.file), side.line or 0, side.did) for side in finding.sides))
    return finding.check, finding.severity, finding.kernel, finding.file, None if lines else finding.line, lines


def _all(result: RunResult) -> tuple[Finding, ...]:
    return (*result.findings, *(finding for launch in result.launches for finding in launch.findings))


def _merge(first: RunResult, more: RunResult) -> RunResult:
    """The first run with what only the other found."""
    known = {_key(finding) for finding in _all(first)}
    new = {_key(finding): finding for finding in reversed(_all(more)) if _key(finding) not in known}
    assert first.check is not None
    assert more.check is not None
    check = replace(
        first.check,
        launches=first.check.launches + more.check.launches,
        accesses=first.check.accesses + more.check.accesses,
        threads=first.check.threads + more.check.threads,
        unchecked=tuple(dict.fromkeys((*first.check.unchecked, *more.check.unchecked))),
    )
    return replace(
        first,
        findings=(*first.findings, *reversed(new.values())),
        unsupported=tuple(dict.fromkeys((*first.unsupported, *more.unsupported))),
        sources={**more.sources, **first.sources},
        check=check,
    )


def _suppress(result: RunResult, request: RunRequest) -> RunResult:
    found = suppressions.of_sources(result.sources)
    file = request.config or suppressions.find_file(Path(request.inputs[0]).resolve().parent)
    if file is not None:
        found += suppressions.of_file(file)
    once = {_key(finding): finding for finding in reversed(_all(result))}  # of many launches: the first that has it
    left, suppressed, unused = suppressions.apply(tuple(reversed(once.values())), found)
    keep = set(left)
    launches = tuple(
        replace(launch, findings=tuple(finding for finding in launch.findings if finding in keep))
        for launch in result.launches
    )
    assert result.check is not None
    check: CheckSummary = replace(result.check, suppressed=suppressed, unused_suppressions=unused)
    return replace(result, findings=left, launches=launches, check=check)
