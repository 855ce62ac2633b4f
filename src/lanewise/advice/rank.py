"""Which findings are given: those worth it, the most worth first, each place once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lanewise.advice.rule import Rule
from lanewise.records import Finding

WORTH = 0.05  # share of the launch's time that a change must save


def saved(finding: Finding) -> float:
    """Microseconds of one launch."""
    return finding.gain.before_us - finding.gain.after_us if finding.gain is not None else 0.0


def worth_it(finding: Finding) -> bool:
    return finding.gain is not None and saved(finding) >= WORTH * finding.gain.before_us > 0


def ranked(findings: Iterable[Finding], rules: Sequence[Rule]) -> tuple[Finding, ...]:
    """What is worth it, by the time saved; of one place without what another rule says better. Remarks come last."""
    findings = list(findings)
    worth = [finding for finding in findings if worth_it(finding)]
    better = {(loser, _place(f)) for f in worth for rule in rules if rule.name == f.check for loser in rule.instead_of}
    left = [finding for finding in worth if (finding.check, _place(finding)) not in better]
    left += [finding for finding in findings if finding.gain is None]
    return tuple(sorted(left, key=lambda f: (-saved(f), f.check, str(_place(f)))))


def _place(finding: Finding) -> object:
    return (finding.file, finding.line) if finding.line is not None else finding.ptx_line
