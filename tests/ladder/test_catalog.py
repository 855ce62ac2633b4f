"""The ladder's data is consistent: files, kernels, expressions, claims; and rungs compile."""

import re
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from lanewise.errors import UsageError
from lanewise.ladder import load, resolve, subjects
from lanewise.ladder.catalog import METRICS, TYPES, Rung, Subject
from lanewise.ladder.expressions import evaluate

RUNGS = [(load(name), rung) for name in subjects() for rung in load(name).rungs]
each_rung = pytest.mark.parametrize(
    ("subject", "rung"), RUNGS, ids=[f"{subject.name}-{rung.name}" for subject, rung in RUNGS]
)


def plans(subject: Subject, rung: Rung):
    for element in rung.types:
        yield resolve(subject, rung, element, {})


@each_rung
def test_the_kernels_of_a_rung_are_in_its_file_with_as_many_parameters(subject: Subject, rung: Rung) -> None:
    source = rung.source()
    assert source.startswith("// Rung"), "a rung begins with what it changes and why"
    for launch in rung.launches:
        match = re.search(rf"\b{launch.kernel}\(([^{{]*)\)\s*\{{", source)
        assert match, launch.kernel
        assert len(match[1].split(",")) == len(launch.arguments)


@each_rung
def test_a_rung_resolves_at_the_default_sizes_within_the_limits_of_a_card(subject: Subject, rung: Rung) -> None:
    for plan in plans(subject, rung):
        assert plan.launches
        for launch in plan.launches:
            threads = launch.block[0] * launch.block[1] * launch.block[2]
            assert 1 <= threads <= 1024
            assert threads % 32 == 0
            assert launch.shared_bytes <= 227 * 1024
            assert launch.grid[1] <= 65535
            assert launch.grid[2] <= 65535


@each_rung
def test_a_claim_speaks_of_an_earlier_rung_and_known_metrics(subject: Subject, rung: Rung) -> None:
    if rung.claim is None:
        assert rung is subject.rungs[0], "only the first rung has nothing to claim against"
        return
    names = [other.name for other in subject.rungs]
    assert names.index(rung.claim.against) < names.index(rung.name)
    assert rung.claim.changes
    assert {change.metric for change in rung.claim.changes} <= METRICS
    assert rung.claim.problem.keys() <= subject.problem.keys()


@pytest.mark.parametrize("name", subjects())
def test_every_file_of_a_subject_is_a_rung(name: str) -> None:
    subject = load(name)
    folder = Path(str(files("lanewise.ladder") / name))
    assert {path.name for path in folder.glob("*.cu")} == {rung.file for rung in subject.rungs}
    assert len({rung.name for rung in subject.rungs}) == len(subject.rungs)
    buffers = [*subject.buffers, *(buffer for rung in subject.rungs for buffer in rung.scratch)]
    assert {buffer.type for buffer in buffers} <= TYPES.keys() | {"element"}
    assert {buffer.zero for buffer in buffers} <= {"", "once", "each run"}
    assert [rung.file for rung in subject.rungs] == sorted(rung.file for rung in subject.rungs)


def test_empty_problems_launch_nothing_or_little() -> None:
    transpose = load("transpose")
    for rung in transpose.rungs:
        plan = resolve(transpose, rung, "f32", {"rows": 0, "columns": 8})
        assert plan.launches == ()


def test_what_is_wrong_is_said() -> None:
    transpose = load("transpose")
    with pytest.raises(UsageError, match="no rung 'fast'"):
        transpose.rung("fast")
    with pytest.raises(UsageError, match="no size depth"):
        resolve(transpose, transpose.rungs[0], "f32", {"depth": 3})
    with pytest.raises(UsageError, match=r"needs rows \* size % 16 == 0"):
        resolve(transpose, transpose.rung("vectorised"), "u8", {"rows": 17})
    with pytest.raises(UsageError, match="no subject 'cooking'"):
        load("cooking")


@pytest.mark.parametrize(
    ("expression", "value"),
    [("cdiv(n, 4) * 2", 6), ("n % 4 == 1 and n > 3", 1), ("max(1, n // 8)", 1), ("min(n, 2) - 3", -1)],
)
def test_expressions(expression: str, value: int) -> None:
    assert evaluate(expression, {"n": 9}) == value


@pytest.mark.parametrize("expression", ["m", "n / 2", "__import__('os')", "n // 0", "n +", "n.real", "'n'"])
def test_no_other_expressions(expression: str) -> None:
    with pytest.raises(UsageError, match="ladder"):
        evaluate(expression, {"n": 9})


@pytest.mark.parametrize("name", subjects())
def test_unknown_fields_are_refused(name: str) -> None:
    from lanewise.ladder.catalog import _subject

    table = tomllib.loads((files("lanewise.ladder") / name / "ladder.toml").read_text(encoding="utf-8"))
    table["rung"][0]["colour"] = "red"
    with pytest.raises(UsageError, match="colour"):
        _subject(name, table)
