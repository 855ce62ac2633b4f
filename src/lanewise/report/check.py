"""The report of `lanewise check`: what is wrong, then what was looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.text import Text

from lanewise.catalogue import Catalogue
from lanewise.records import CheckSummary, Finding, RunResult, Severity
from lanewise.report import text
from lanewise.report.findings import finding_lines, unsupported_lines

_ORDER = (Severity.ERROR, Severity.WARNING, Severity.NOTE)


def all_findings(result: RunResult) -> tuple[Finding, ...]:
    """Those of the run and of its launches, each once, the worst first."""
    found = dict.fromkeys((*result.findings, *(f for launch in result.launches for f in launch.findings)))
    return tuple(sorted(found, key=lambda finding: _ORDER.index(finding.severity)))


def check_lines(result: RunResult, words: Catalogue, width: int) -> list[Text]:
    """The findings, each with its place, evidence and next step, and the summary."""
    times = Counter(f for launch in result.launches for f in launch.findings)
    lines: list[Text] = []
    findings = all_findings(result)
    for finding in findings:
        lines += [Text(""), *finding_lines(finding, times[finding], result.sources, words, width, result.program)]
    if result.unsupported:
        lines += [Text(""), *unsupported_lines(result.unsupported, words, width, result.program)]
    lines.append(Text(""))
    if result.check is not None:
        for sentence in summary_sentences(result.check, findings, words):
            lines += [Text(line) for line in text.wrap(sentence, width, rest="  ")]
    for note in result.notes:
        lines += [
            Text(line)
            for line in text.note_lines(
                words.retell(note), width, words.say("finding.note") + words.say("report.colon")
            )
        ]
    return lines


def summary_sentences(check: CheckSummary, findings: Sequence[Finding], words: Catalogue) -> list[str]:
    """What was found and what was looked at, in sentences."""
    counts = Counter(finding.severity for finding in findings)
    found = words.listed(words.count(counts[s], s.value) for s in _ORDER if counts[s])
    sentences = [
        words.say(
            "checked.found",
            checks=words.listed(check.checks),
            found=found or words.say("checked.nothing"),
            launches=words.count(check.launches, "launch"),
            accesses=text.count(check.accesses),
            threads=text.count(check.threads),
        )
    ]
    if check.suppressed:
        sentences.append(words.say("checked.suppressed", findings=words.count(check.suppressed, "finding")))
    sentences += [words.say("checked.never_used", where=where) for where in check.unused_suppressions]
    return sentences + [words.say("checked.unchecked", what=words.retell(what)) for what in check.unchecked]
