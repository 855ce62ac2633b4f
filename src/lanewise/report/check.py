"""The report of `lanewise check`: what is wrong, then what was looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.text import Text

from lanewise.records import CheckSummary, Finding, RunResult, Severity
from lanewise.report import text
from lanewise.report.findings import finding_lines, unsupported_lines

_ORDER = (Severity.ERROR, Severity.WARNING, Severity.NOTE)


def all_findings(result: RunResult) -> tuple[Finding, ...]:
    """Those of the run and of its launches, each once, the worst first."""
    found = dict.fromkeys((*result.findings, *(f for launch in result.launches for f in launch.findings)))
    return tuple(sorted(found, key=lambda finding: _ORDER.index(finding.severity)))


def check_lines(result: RunResult, width: int) -> list[Text]:
    """The findings, each with its place, evidence and next step, and the summary."""
    times = Counter(f for launch in result.launches for f in launch.findings)
    lines: list[Text] = []
    findings = all_findings(result)
    for finding in findings:
        lines += [Text(""), *finding_lines(finding, times[finding], result.sources, width, result.program)]
    if result.unsupported:
        lines += [Text(""), *unsupported_lines(result.unsupported, width, result.program)]
    lines.append(Text(""))
    if result.check is not None:
        for sentence in summary_sentences(result.check, findings):
            lines += [Text(line) for line in text.wrap(sentence, width, rest="  ")]
    for note in result.notes:
        lines += [Text(line) for line in text.note_lines(note, width)]
    return lines


def summary_sentences(check: CheckSummary, findings: Sequence[Finding]) -> list[str]:
    """What was found and what was looked at, in sentences."""
    counts = Counter(finding.severity for finding in findings)
    found = [f"{counts[s]} {s.value}{'s' if counts[s] != 1 else ''}" for s in _ORDER if counts[s]]
    sentences = [
        f"checked for {', '.join(check.checks)}: {', '.join(found) or 'nothing found'} in "
        f"{text.plural(check.launches, 'launch')}, {check.accesses:,} accesses of warps by {check.threads:,} threads"
    ]
    if check.suppressed:
        sentences.append(f"{text.plural(check.suppressed, 'finding')} suppressed")
    sentences += [f"suppression never used: {where}" for where in check.unused_suppressions]
    return sentences + [f"not checked: {what}" for what in check.unchecked]
