"""`lanewise ladder`: what it prints, as text and as JSON, and its messages."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from lanewise.cli.main import main
from lanewise.ladder import load, subjects


def test_without_a_subject_it_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ladder"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in subjects())


def test_a_subject_is_a_table_with_claims_on_each_device(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ladder", "access", "--device", "h200,t4", "--size", "4096"]) == 0
    out = capsys.readouterr().out
    assert "counted for NVIDIA H200; n 4,096" in out
    assert "counted for Tesla T4; n 4,096" in out
    rows = [line.split() for line in out.splitlines() if line.startswith("stride_2 ") and " against " not in line]
    assert [row[3:6] for row in rows] == [["256", "2,048", "8"]] * 2  # requests, sectors, sectors a request
    assert all(row[-1] == "holds" for row in rows)


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
        (["divergence", "--size", "32", "--plot", "/no/such/folder/x.svg"], "No such file"),
    ],
)
def test_what_is_wrong_is_one_message(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ladder", *arguments]) == 2
    assert message in capsys.readouterr().err
