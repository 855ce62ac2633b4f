"""What to change, as the terminal shows it."""

from __future__ import annotations

from dataclasses import replace

import samples

from lanewise.records import Finding, Gain, Said, Severity, SourceLine, Tried, Unit
from lanewise.report.terminal import report_text


def _finding(line: int, after: float | None) -> Finding:
    said = (
        Said("message", "strided_access.message", (("kind", "@kind.store"), ("stride", "8,192"))),
        Said("change", "strided_access.tile_change"),
        Said("next_step", "strided_access.reorder"),
    )
    gain = None if after is None else Gain(60.0, after, Tried.RERUN, "a tile in shared memory")
    return Finding(
        "strided_access", Severity.NOTE, "", source=SourceLine(samples.PROGRAM, line), gain=gain, said=said,
        rung="transpose padded",
    )  # fmt: skip


def _report(*advice: tuple[Finding, ...], units: tuple[Unit, ...] = (), width: int = 100) -> str:
    run = samples.transposes()
    launches = [
        replace(launch, advised=True, advice=found, units=units)
        for launch, found in zip(run.launches, advice, strict=False)
    ]
    return report_text(replace(run, launches=tuple(launches)), width)


def test_findings_are_numbered_within_each_kernel() -> None:
    text = _report((_finding(4, 15.0),), (_finding(8, 40.0), _finding(11, 50.0)))
    assert (
        "  1.1  transpose.cu:4: Strided store: neighbouring lanes are 8,192 bytes apart.\n"
        "       Let the lanes of a warp take neighbouring elements, in loads and stores alike.\n"
        "       60.0 -> 15.0 us (tried: re-run)   lanewise ladder transpose --show padded\n"
        "       lanewise explain 1.1\n"
    ) in text
    assert "  2.2  transpose.cu:11: " in text
    assert "where 4 would do" not in text  # nothing is said twice


def test_kernels_together_say_where_to_look_first() -> None:
    text = _report((_finding(4, 50.0),), (_finding(11, 15.0),))
    first, second = text.partition("Look first at\n")[2].splitlines()[:2]
    assert first == "  2.1  transpose.cu:11: a tile in shared memory, in transpose_shared: saves 45.0 us"
    assert second.startswith("  1.1  transpose.cu:4: ")


def test_a_kernel_at_its_roof_is_left_alone() -> None:
    text = _report((), units=(Unit("DRAM", 930.0, 0.93),))
    assert "  At 93% of the DRAM roof: nothing above 5% left.\n" in text


def test_a_kernel_below_its_roofs_may_have_nothing_to_change_either() -> None:
    nothing = "  No change that was looked for is worth more than 5% of the time.\n"
    assert nothing in _report((), units=(Unit("DRAM", 300.0, 0.3),))
    assert nothing in _report((_finding(4, None),))
    assert nothing not in _report((_finding(4, 30.0),))


def test_what_advice_is_about_is_not_said_beside_it() -> None:
    run = samples.transposes()
    idle = replace(run.launches[0], ptx_thread_instructions=8 * run.launches[0].ptx_instructions, advised=True)
    sentence = "8 of 32 lanes were active"
    assert sentence in report_text(replace(run, launches=(idle,)), 100)
    advised = replace(idle, advice=(replace(_finding(4, 15.0), check="lane_divergence"),))
    assert sentence not in report_text(replace(run, launches=(advised,)), 100)


def test_of_a_kernel_the_best_change_stands_in_the_list_of_all() -> None:
    text = _report((_finding(4, 15.0), _finding(3, 20.0)), (_finding(11, 50.0),))
    listed = text.partition("Look first at\n")[2].splitlines()
    assert [line.split()[0] for line in listed[:2]] == ["1.1", "2.1"]
    assert not listed[2].strip()
