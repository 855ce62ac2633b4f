"""Suppressions: which findings a comment or an entry means, and what is wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanewise.checks import suppressions
from lanewise.errors import UsageError
from lanewise.records import Finding, Severity, Side, SourceLine


def race(line: int, other: int, kernel: str = "k(int*)") -> Finding:
    sides = (Side("a.cu", line, "write"), Side("a.cu", other, "read"))
    return Finding("race", Severity.ERROR, "a race", kernel, SourceLine("a.cu", line), sides=sides)


@pytest.mark.parametrize(
    ("text", "lines", "left"),
    [
        ("x;  // lanewise: ignore[race] known", (1, 9), 0),
        ("x;  /* lanewise: ignore[race, bounds] known */", (9, 1), 0),
        ("x;  // lanewise: ignore[bounds] known", (1, 9), 1),
        ("// lanewise: ignore[race] known\nx;", (2, 9), 0),
        ("// lanewise: ignore[race] known\n\nx;", (3, 9), 1),
        ("x;  // lanewise: ignore[race] known\ny;", (2, 9), 1),
    ],
)
def test_comments(text: str, lines: tuple[int, int], left: int) -> None:
    found = suppressions.of_sources({"a.cu": text})
    findings, suppressed, unused = suppressions.apply((race(*lines),), found)
    assert (len(findings), suppressed) == (left, 1 - left)
    assert unused == (("a.cu:1: known",) if left else ())


@pytest.mark.parametrize("text", ["ignore[race]", "ignore[rice] known", "ignore[] known"])
def test_comments_that_say_too_little(text: str) -> None:
    with pytest.raises(UsageError):
        suppressions.of_sources({"a.cu": f"x;  // lanewise: {text}"})


@pytest.mark.parametrize(
    ("entry", "left"),
    [
        ('check = "race"', 0),
        ('kernel = "k"', 0),
        ('file = "*.cu"', 0),
        ('check = "race"\nkernel = "other*"', 1),
        ('check = "bounds"', 1),
        ('file = "b.cu"', 1),
    ],
)
@pytest.mark.parametrize(
    ("name", "head"), [("lanewise.toml", "suppress"), ("pyproject.toml", "tool.lanewise.suppress")]
)
def test_entries(tmp_path: Path, entry: str, left: int, name: str, head: str) -> None:
    (tmp_path / name).write_text(f'[[{head}]]\n{entry}\nreason = "known"\n')
    (tmp_path / "below").mkdir()
    path = suppressions.find_file(tmp_path / "below")
    assert path == tmp_path / name
    findings, _, unused = suppressions.apply((race(1, 2),), suppressions.of_file(path))
    assert len(findings) == len(unused) == left


@pytest.mark.parametrize(
    "entry", ['check = "race"', 'reason = "x"\nline = "3"', 'reason = "x"\ncheck = 3', "reason = "]
)
def test_entries_that_are_wrong(tmp_path: Path, entry: str) -> None:
    path = tmp_path / "lanewise.toml"
    path.write_text(f"[[suppress]]\n{entry}\n")
    with pytest.raises(UsageError):
        suppressions.of_file(path)
