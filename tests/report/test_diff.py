"""Two results: which kernels, lines and findings are partners, what differs, and what of that is worse."""

from __future__ import annotations

from dataclasses import replace

import pytest
from samples import FAULT, PROGRAM, TRANSPOSE, faulted, gemm, mixed, result, transposes

from lanewise.catalogue import catalogue
from lanewise.errors import UsageError
from lanewise.records import Finding, Gain, RunResult, Severity, SourceLine, Tried
from lanewise.report.diff import Change, KernelDiff, RunDiff, diff
from lanewise.report.fail_on import Criterion, failures, parse
from lanewise.report.line_match import LineMatch

CONFLICT = Finding(
    "bank-conflict",
    Severity.NOTE,
    "32 lanes in one bank",
    kernel="transpose_shared(float const*, float*, int, int)",
    source=SourceLine(PROGRAM, 12),
    gain=Gain(10.0, 6.0, Tried.REEVALUATED, "rows of 33 words"),
)


def timed(run: RunResult, *times: float) -> RunResult:
    launches = zip(run.launches, times, strict=True)
    return replace(run, launches=tuple(replace(n, time_us=time, advised=True) for n, time in launches))


def only(run: RunResult, *names: str) -> RunResult:
    return replace(run, launches=tuple(n for n in run.launches if n.kernel.split("(")[0] in names))


def moved(run: RunResult, by: int, text: str) -> RunResult:
    """With accesses `by` lines lower in the program, which is `text`."""
    launches = tuple(
        replace(n, accesses=tuple(replace(a, line=(a.line or 0) + by) for a in n.accesses)) for n in run.launches
    )
    return replace(run, launches=launches, sources={PROGRAM: text})


def renamed(run: RunResult, old: str, new: str) -> RunResult:
    return replace(run, launches=tuple(replace(n, kernel=n.kernel.replace(old, new)) for n in run.launches))


def changed(kernel: KernelDiff) -> dict[str, tuple[float | None, float | None]]:
    return {c.name: (c.before, c.after) for c in kernel.changes if c.before != c.after}


def said(difference: RunDiff, *criteria: str) -> list[str]:
    return failures(difference, [parse(words) for words in criteria], catalogue())


def test_a_result_differs_from_itself_in_nothing() -> None:
    for run in (transposes(), mixed()):
        difference = diff(run, run)
        assert not any(changed(k) or k.lines or k.came or k.went or k.remarks != (TIMES,) for k in difference.kernels)
        assert difference.only_before == difference.only_after == ()
        assert said(difference, "any", "findings") == []


TIMES = "no_times"


def test_padding_shows_by_kernel_and_on_its_line() -> None:
    """transpose_shared becomes what transpose_padded is: 32 wavefronts a request become 1."""
    lines = TRANSPOSE.replace("transpose_padded", "transpose_shared").splitlines(keepends=True)
    shared, padded = "".join(lines[5:13]), "".join(["// padded\n", *lines[13:]])
    before = moved(timed(only(transposes(), "transpose_shared"), 20.0), -5, shared)
    after = moved(timed(only(transposes(), "transpose_padded"), 12.0), -12, padded)
    after = renamed(after, "padded", "shared")
    (kernel,) = diff(before, after).kernels
    requests = 131_072
    assert changed(kernel) == {
        "time": (20.0, 12.0),
        "wavefronts": (33 * requests, 2 * requests),
        "wavefronts_excess": (31 * requests, 0),
    }
    (line,) = kernel.lines
    assert line.text == "out[y * h + x] = t[threadIdx.x][threadIdx.y];"
    assert [(c.name, c.before, c.after) for c in line.changes] == [
        ("wavefronts", 32 * requests, requests),
        ("wavefronts_excess", 31 * requests, 0),
    ]


def test_lines_are_partners_by_their_text() -> None:
    difference = diff(transposes(), moved(transposes(), 3, "// more\n" * 3 + TRANSPOSE))
    assert not any(kernel.lines for kernel in difference.kernels)
    match = LineMatch({"a.cu": "int a;\nfloat t[32][32];\nx = 1;\n"}, {"a.cu": "// new\nint a;\nfloat t[32][33];\n"})
    assert [match.before(("a.cu", n)) for n in (1, 2, 3)] == [None, ("a.cu", 1), ("a.cu", 2)]


def test_a_long_file_of_lines_that_are_mostly_alike() -> None:
    """Ten lines in front, one edited in the middle; every other line is a brace."""
    lines = [line for n in range(400) for line in (f"  out[{n}] = in[{n}] * scale;", "}")]
    edited = [*["// more"] * 10, *lines]
    edited[410] = "  out[200] = in[200] * scale + 1;"
    match = LineMatch({"a.cu": "\n".join(lines)}, {"a.cu": "\n".join(edited)})
    assert [match.before(("a.cu", n)) for n in range(11, 811)] == [("a.cu", n) for n in range(1, 801)]
    assert match.before(("a.cu", 10)) is None


@pytest.mark.parametrize(
    ("before", "after", "partner"),
    [
        (("/x/a.cu",), ("/y/a.cu",), "/x/a.cu"),
        (("/x/a.cu",), ("/y/b.cu",), "/x/a.cu"),
        (("/x/a.cu", "/x/b.cu"), ("/y/b.cu",), "/x/b.cu"),
        (("/x/a.cu", "/x/b.cu"), ("/y/c.cu",), None),
        (("/x/a.cu", "/z/a.cu"), ("/y/a.cu",), None),
    ],
)
def test_files_are_partners_by_path_then_name(
    before: tuple[str, ...], after: tuple[str, ...], partner: str | None
) -> None:
    match = LineMatch(dict.fromkeys(before, "x\n"), dict.fromkeys(after, "x\n"))
    assert match.before((after[0], 1)) == (None if partner is None else (partner, 1))


def test_kernels_are_partners_by_shape_then_by_name() -> None:
    one, other = gemm(0), replace(gemm(1), grid=(4, 4, 1))
    third = replace(gemm(2), grid=(2, 2, 1))
    difference = diff(result((one, other)), result((third, one)))
    assert [(k.before[0].grid, k.after[0].grid) for k in difference.kernels] == [
        ((4, 4, 1), (2, 2, 1)),
        (one.grid, one.grid),
    ]
    templated = replace(gemm(0), kernel="void gemm_naive<32>(float const*, int)")
    (pair,) = diff(result((one,)), result((templated,))).kernels
    assert pair.after == (templated,)


def test_launches_of_a_shape_are_summed() -> None:
    (kernel,) = diff(result((gemm(0),)), result((gemm(0), gemm(1)))).kernels
    before, after = changed(kernel)["sectors"]
    assert before is not None
    assert after == 2 * before


def test_occupancy_is_better_where_it_is_more() -> None:
    assert Change("occupancy", 50.0, 100.0).worse_by == -1.0
    assert Change("registers", 40, 50).worse_by == 0.25
    assert Change("spills", 0, 8).worse_by == float("inf")
    assert Change("spills", 0, 0).worse_by == 0.0
    assert Change("time", None, 8).worse_by is None


def test_findings_that_came_and_went() -> None:
    plain = timed(transposes(), 1.0, 2.0, 3.0)
    naive, shared, padded = plain.launches
    advised = replace(plain, launches=(naive, replace(shared, advice=(CONFLICT,)), padded))
    assert [k.came for k in diff(plain, advised).kernels] == [(), (CONFLICT,), ()]
    assert [k.went for k in diff(advised, plain).kernels] == [(), (CONFLICT,), ()]
    assert said(diff(plain, advised), "findings") == ["transpose_shared: bank-conflict: 32 lanes in one bank"]
    assert said(diff(advised, plain), "findings") == []
    lower = moved(advised, 2, "// more\n" * 2 + TRANSPOSE)
    at = replace(CONFLICT, source=SourceLine(PROGRAM, 14))
    lower = replace(lower, launches=tuple(replace(n, advice=(at,) if n.advice else ()) for n in lower.launches))
    assert not any(k.came or k.went for k in diff(advised, lower).kernels)
    unasked = replace(plain, launches=tuple(replace(n, advised=False) for n in plain.launches))
    assert all(k.remarks[-1] == "advice" for k in diff(unasked, advised).kernels)


def test_a_kernel_that_no_longer_runs_is_worse_whatever_is_asked() -> None:
    before = timed(only(transposes(), "transpose_naive"), 5.0)
    difference = diff(before, faulted())
    (kernel,) = difference.kernels
    assert changed(kernel) == {}
    assert kernel.came == (FAULT,)
    assert [finding.check for finding in difference.came] == ["leak"]
    assert said(difference, "registers") == ["transpose_naive: no longer runs to its end"]
    assert said(diff(faulted(), before), "time", "sectors") == []


def test_tolerances() -> None:
    before, after = timed(transposes(), 10.0, 10.0, 10.0), timed(transposes(), 10.6, 10.5, 9.0)
    difference = diff(before, after)
    assert said(difference, "time:5%") == ["transpose_naive: time 6.0 % worse, over 5 %"]
    assert len(said(difference, "time")) == 2
    assert said(difference, "any") == said(difference, "time")
    assert said(difference, "sectors") == []


def test_a_value_that_is_not_known_is_not_taken_for_good() -> None:
    with pytest.raises(UsageError, match="--fail-on time: not known of transpose_naive"):
        said(diff(timed(transposes(), 1.0, 1.0, 1.0), transposes()), "time")


@pytest.mark.parametrize("words", ["", "speed", "time:", "time:5", "time:-5%", "time:5%%", "findings:5%"])
def test_what_is_no_criterion(words: str) -> None:
    with pytest.raises(UsageError, match="--fail-on"):
        parse(words)
    assert parse("wavefronts-excess:2.5%") == Criterion("wavefronts_excess", 2.5)


def test_different_programs_and_devices_are_refused() -> None:
    with pytest.raises(UsageError, match=r"no kernel in common: transpose_naive, .* before, gemm_naive after"):
        diff(transposes(), result((gemm(),)))
    with pytest.raises(UsageError, match="no launch after"):
        diff(transposes(), result(()))
    with pytest.raises(UsageError, match="two devices: h200 before, a100 after"):
        diff(transposes(), replace(transposes(), device="a100"))
    difference = diff(transposes(), only(transposes(), "transpose_naive"))
    assert [n.kernel.split("(")[0] for n in difference.only_before] == ["transpose_shared", "transpose_padded"]
