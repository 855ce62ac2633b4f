"""What counts as worse for a script: criteria such as `time:5%`, and which of them a difference meets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lanewise.catalogue import Catalogue
from lanewise.errors import UsageError
from lanewise.records import Finding, Severity
from lanewise.report import text
from lanewise.report.diff import VALUES, KernelDiff, RunDiff
from lanewise.report.diff_lines import message

FINDINGS, ANY = "findings", "any"
CRITERIA = (*VALUES, FINDINGS, ANY)
_WORDS = re.compile(r"(?P<name>[\w-]+)(?::(?P<percent>\d+(?:\.\d+)?)%)?")
_ROUNDING = 1e-9  # sums of modelled times


@dataclass(frozen=True, slots=True)
class Criterion:
    """A value, or FINDINGS or ANY; it may get worse by `percent` of what it was, in any one kernel."""

    name: str
    percent: float = 0.0


def parse(words: str) -> Criterion:
    """`time`, `time:5%`. Raises UsageError for what is no criterion."""
    found = _WORDS.fullmatch(words.strip())
    if found is None or found["name"].replace("-", "_") not in CRITERIA:
        names = ", ".join(name.replace("_", "-") for name in CRITERIA)
        raise UsageError(
            f"--fail-on {words} is no criterion",
            next_step=f"Name one of {names}; values and any may have a tolerance, as in time:5%.",
        )
    name = found["name"].replace("-", "_")
    if name == FINDINGS and found["percent"] is not None:
        raise UsageError("--fail-on findings has no tolerance", next_step="Leave the percentage out.")
    return Criterion(name, float(found["percent"] or 0))


def failures(difference: RunDiff, criteria: Sequence[Criterion], words: Catalogue) -> list[str]:
    """A sentence for each thing that got worse. Raises UsageError where a value that a criterion names is not known:
    that is not the same as not worse."""
    if not criteria:
        return []
    said = [sentence for kernel in difference.kernels for sentence in _of_kernel(kernel, criteria, words)]
    if any(criterion.name in (FINDINGS, ANY) for criterion in criteria):
        said += [f"{finding.check}: {message(finding, words)}" for finding in difference.came if counts(finding)]
    return list(dict.fromkeys(said))


def counts(finding: Finding) -> bool:
    """Errors, warnings and changes that are worth it; remarks do not count."""
    return finding.severity is not Severity.NOTE or finding.gain is not None


def _of_kernel(kernel: KernelDiff, criteria: Sequence[Criterion], words: Catalogue) -> Iterator[str]:
    name = text.kernel_name(kernel.after[0].kernel)
    if kernel.broke:
        yield words.say("diff.broke", kernel=name)
        return
    for criterion in criteria:
        for change in kernel.changes:
            if criterion.name not in (change.name, ANY):
                continue
            worse = change.worse_by
            if worse is not None and 100 * worse > criterion.percent + _ROUNDING:
                percent = f"{100 * worse:,.{1 if worse < 1 else 0}f}"
                yield words.say(
                    "diff.failed_over" if criterion.percent else "diff.failed",
                    kernel=name,
                    value=f"@differs.{change.name}",
                    worse="@diff.from_none" if worse == float("inf") else words.say("diff.worse_by", percent=percent),
                    limit=f"{criterion.percent:g}",
                )
            elif worse is None and criterion.name == change.name and not kernel.cut_short_before:
                raise UsageError(
                    f"--fail-on {criterion.name}: not known of {name} on one side or both",
                    next_step="`lanewise doctor` says what a run lacks to know it; or choose another criterion.",
                )
        if criterion.name in (FINDINGS, ANY):
            yield from (
                f"{name}: {finding.check}: {message(finding, words)}" for finding in kernel.came if counts(finding)
            )
