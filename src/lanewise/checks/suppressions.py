"""Findings that are known and meant: comments in the source, entries of a configuration file, each with a reason.

    out[0] = 1;  // lanewise: ignore[race] every thread writes 1

stands on the line of the finding (either side of a race), or alone on the line before it. In `lanewise.toml`, or under
`[tool.lanewise]` of `pyproject.toml`, in the program's folder or one above it:

    [[suppress]]
    check = "race"            # all of check, kernel, file are patterns; one that is left out matches everything
    kernel = "count_*"
    file = "*/vendor/*.cuh"
    reason = "counted approximately on purpose"
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from lanewise.checks.selection import Check
from lanewise.errors import UsageError
from lanewise.records import Finding

_COMMENT = re.compile(r"(?://|/\*)\s*lanewise:\s*ignore\[([\w\s,-]*)\]\s*(.*?)\s*(?:\*/)?\s*$")
_KEYS = frozenset(("check", "kernel", "file", "reason"))
FILES = ("lanewise.toml", "pyproject.toml")


@dataclass(frozen=True, slots=True)
class Suppression:
    """What is not to be reported. `lines`: of a comment, the lines it stands for; empty for an entry of a file.
    `where`: the place it was written at."""

    where: str
    reason: str
    checks: frozenset[str] = frozenset()  # empty: all
    check: str = "*"
    kernel: str = "*"
    file: str = "*"
    lines: frozenset[int] = frozenset()

    def matches(self, finding: Finding) -> bool:
        """Whether a finding is one of those meant."""
        if self.lines:
            places = {(finding.file, finding.line), *((side.file, side.line) for side in finding.sides)}
            return finding.check in self.checks and any(
                file == self.file and line in self.lines for file, line in places
            )
        kernel = finding.kernel or ""
        return (
            fnmatchcase(finding.check, self.check)
            and (fnmatchcase(kernel, self.kernel) or fnmatchcase(kernel.split("(")[0], self.kernel))
            and fnmatchcase(finding.file or "", self.file)
        )


def of_sources(sources: Mapping[str, str]) -> list[Suppression]:
    """The comments in the program's sources. Raises UsageError for one without a reason or with an unknown check."""
    result = []
    for file, text in sorted(sources.items()):
        if "lanewise:" not in text:
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            match = _COMMENT.search(line)
            if match is None:
                continue
            where = f"{file}:{number}"
            checks = frozenset(name.strip() for name in match[1].split(",") if name.strip())
            unknown = sorted(checks - {check.value for check in Check})
            if unknown or not checks:
                raise UsageError(
                    f"{where}: there is no check called {unknown[0]!r}" if unknown else f"{where}: no check is named",
                    next_step=f"write one of {', '.join(Check)} in the brackets",
                )
            _need_reason(where, match[2])
            alone = not line[: match.start()].strip()
            lines = frozenset((number, number + 1)) if alone else frozenset((number,))
            result.append(Suppression(where, match[2], checks, file=file, lines=lines))
    return result


def of_file(path: Path) -> list[Suppression]:
    """The entries of a configuration file. Raises UsageError for what is not as it should be."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    table: Any = data
    if path.name == "pyproject.toml":
        table = data.get("tool", {}).get("lanewise", {})
    entries = table.get("suppress", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UsageError(f"{path}: `suppress` must be a list of tables ([[suppress]])")
    return [_entry(f"{path}, suppression {number}", entry) for number, entry in enumerate(entries, start=1)]


def _entry(where: str, entry: dict[str, object]) -> Suppression:
    wrong = sorted(entry.keys() - _KEYS) or sorted(key for key, value in entry.items() if not isinstance(value, str))
    if wrong:
        raise UsageError(
            f"{where}: {wrong[0]!r} is not one of its keys, or not a text",
            next_step=f"keys: {', '.join(sorted(_KEYS))}",
        )
    texts = {key: str(value) for key, value in entry.items()}
    _need_reason(where, texts.get("reason", ""))
    return Suppression(
        where, texts["reason"], check=texts.get("check", "*"), kernel=texts.get("kernel", "*"),
        file=texts.get("file", "*"),
    )  # fmt: skip


def _need_reason(where: str, reason: str) -> None:
    if not reason:
        raise UsageError(f"{where}: a suppression needs a reason", next_step="say why the finding is meant")


def find_file(start: Path) -> Path | None:
    """The configuration file of a folder or of the nearest one above it that has one."""
    for folder in (start, *start.parents):
        for name in FILES:
            path = folder / name
            if path.is_file() and (name == "lanewise.toml" or "[tool.lanewise" in path.read_text(encoding="utf-8")):
                return path
    return None


def apply(
    findings: Sequence[Finding], suppressions: Sequence[Suppression]
) -> tuple[tuple[Finding, ...], int, tuple[str, ...]]:
    """(the findings that are left, how many are suppressed, the suppressions that matched nothing)."""
    used: set[Suppression] = set()
    left = []
    for finding in findings:
        matching = [suppression for suppression in suppressions if suppression.matches(finding)]
        used.update(matching)
        if not matching:
            left.append(finding)
    unused = tuple(f"{s.where}: {s.reason}" for s in suppressions if s not in used)
    return tuple(left), len(findings) - len(left), unused
