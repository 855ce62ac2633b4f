"""`lanewise ladder`: what it prints, as text and as JSON, and its messages."""

import json
import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from lanewise.cli.main import main
from lanewise.errors import ExitCode, UsageError
from lanewise.ladder import load, resolve, rows, subjects


@pytest.fixture(autouse=True)
def _one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Helpers take longer to start than these runs take; `test_share.py` has them."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0})


def test_without_a_subject_it_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ladder"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in subjects())


def test_a_subject_is_a_table_with_claims_on_each_device(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ladder", "divergence", "--device", "h200,t4", "--size", "256"]) == 0
    out = capsys.readouterr().out
    assert "counted for NVIDIA H200; f32; n 256" in out
    assert "counted for Tesla T4; f32; n 256" in out
    rows = [line.split() for line in out.splitlines() if line.startswith("by_warp ") and " against " not in line]
    h200, t4, times = rows
    assert h200[2:5] == t4[2:5] == ["64", "512", "8"]  # requests, sectors, sectors a request
    assert h200[-2] == t4[-2] == "holds"
    assert times == ["by_warp", h200[-1], t4[-1]]  # side by side
    assert out.count("by_warp against trip_counts") == 1  # what holds on both is said once
    assert max(map(len, out.splitlines())) <= 100


def test_the_json_has_what_the_table_shows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ladder", "transpose", "--size", "rows=64,columns=96", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["rung"] for row in document["rows"]] == [rung.name for rung in load("transpose").rungs]
    shared = document["rows"][1]
    assert shared["problem"] == {"rows": 64, "columns": 96}
    assert shared["counts"]["shared_load_wavefronts"] == 32 * shared["counts"]["shared_load_requests"]
    assert shared["claim_holds"]
    assert shared["right"]
    assert shared["occupancy"] == 1.0
    assert shared["time_us"] > document["rows"][2]["time_us"] > 0  # conflicts cost time


def test_other_types(capsys: pytest.CaptureFixture[str]) -> None:
    """Claims are of the first type; sectors follow the size of an element."""
    assert main(["ladder", "transpose", "--size", "rows=32,columns=32", "--type", "f64", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["element"] for row in rows} == {"f64"}
    assert {row["claim_holds"] for row in rows} == {None}
    assert rows[2]["counts"]["global_load_sectors"] == 32 * 32 * 8 // 32
    assert all(row["right"] for row in rows)


def test_a_rung_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ladder", "gemm", "--show", "tile_transposed", "--size", "64"]) == 0
    out = capsys.readouterr().out
    assert "// Rung 5: the tile of A stored transposed" in out
    assert "shared store wavefronts x 16.5" in out
    assert "32 wavefronts" in out


def test_the_plot_is_a_picture_with_a_bar_a_rung(tmp_path: Path) -> None:
    assert main(["ladder", "divergence", "--size", "256", "--plot", str(tmp_path / "ladder.svg")]) == 0
    words = [element.text for element in ElementTree.parse(tmp_path / "ladder.svg").getroot().iter()]
    assert {rung.name for rung in load("divergence").rungs} <= set(words)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cooking"], "no subject 'cooking'"),
        (["gemm", "--show", "fast"], "no rung 'fast'"),
        (["gemm", "--size", "depth=3"], "--size depth=3 is no problem of gemm"),
        (["gemm", "--size", "many"], "--size many is no problem of gemm"),
        (["gemm", "--size", "-3"], "--size -3 is no problem of gemm"),
        (["gemm", "--device", "abacus"], "abacus"),
        (["--show", "tiled"], "need a subject"),
        (["divergence", "--plot", "/no/such/folder/x.svg"], "there is no directory /no/such/folder"),
        (["divergence", "--plot", "/"], "it is a directory"),
        (["transpose", "--type", "i32"], "transpose has no elements of type i32"),
        (["divergence", "--plot", __file__], "exists already"),
        (["--plot", "x.svg", "--json"], "do not go together"),
        (["gemm", "--device", ""], "unknown device ''"),
        (["gemm", "--device", "h200,,a100"], "unknown device ''"),
        (["gemm", "--size", "1e3"], "--size 1e3 is no problem of gemm"),
        (["gemm", "--size", "m=8,m"], "--size m=8,m is no problem of gemm"),
    ],
)
def test_what_is_wrong_is_one_message(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ladder", *arguments]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_empty_problems_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ladder", "divergence", "--size", "0"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("by_lane ")]
    assert rows[0][1:4] == ["0", "0", "0"]  # instructions, requests, sectors


def test_more_than_the_device_holds_is_said_before_anything_is_made(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ladder", "banks", "--size", "2000000000"]) == ExitCode.LIMIT
    err = " ".join(capsys.readouterr().err.split())
    assert "out of device memory: banks/pitch_32 needs" in err
    assert "NVIDIA H200 has" in err


def test_a_size_that_no_rung_takes_is_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ladder", "banks", "--size", "9" * 30]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert "no rung of banks runs here" in err
    assert "does not fit the kernel's parameter of type i32" in " ".join(err.split())


def test_more_than_this_machine_holds_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rows, "free_bytes", lambda: 1 << 20)
    assert main(["ladder", "access", "--size", "100000"]) == ExitCode.LIMIT
    assert "GB of this machine's memory" in " ".join(capsys.readouterr().err.split())


def test_sizes_beyond_a_parameter_of_32_bits_are_refused() -> None:
    with pytest.raises(UsageError, match="does not fit the kernel's parameter of type i32"):
        resolve(load("divergence"), load("divergence").rungs[0], "f32", {"n": 3_000_000_000})


def test_a_rung_that_needs_a_newer_device_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ladder", "gemm", "--show", "wgmma", "--device", "t4", "--size", "64"]) == ExitCode.UNSUPPORTED
    assert "needs compute capability 9.0; Tesla T4 has 7.5" in " ".join(capsys.readouterr().err.split())
