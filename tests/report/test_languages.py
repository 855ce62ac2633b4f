"""Reports in Chinese: the same numbers as in English, findings and headings from the catalogue, no line too wide."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from html_samples import advised
from rich.cells import cell_len
from samples import ALL
from typer.testing import CliRunner

from lanewise.catalogue import catalogue
from lanewise.cli.main import app
from lanewise.report import text
from lanewise.report.json import to_json
from lanewise.report.terminal import report_text


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "out.json"
    path.write_text(to_json(advised()), encoding="utf-8")
    return path


def _said(*command: str) -> str:
    done = CliRunner().invoke(app, list(command), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def _numbers(report: str) -> Counter[str]:
    return Counter(re.findall(r"\d[\d,.]*\d|\d", report))


def _visible(page: str) -> str:
    return unescape(re.sub(r"<style>.*?</style>|<script>.*?</script>|<[^>]*>", " ", page, flags=re.S))


@pytest.mark.parametrize("command", [("show",), ("explain", "1.1")])
def test_findings_and_headings_are_chinese_with_the_same_numbers(command: tuple[str, ...], saved: Path) -> None:
    english, chinese = (_said(*command, str(saved), "--lang", language) for language in ("en", "zh"))
    assert _said(*command, str(saved)) == english
    assert "Strided store" in english
    assert "跨步存储：相邻通道相距 8,192 字节。" in chinese
    if command == ("show",):
        assert "屋顶线（Roofline）" in chinese
        assert "理想       同样的通道和宽度所需的最小值" in chinese
    assert "代价：每个线程块 4,224 字节共享内存" in re.sub(r"\n *", "", chinese)
    assert "Strided" not in chinese
    assert _numbers(chinese) == _numbers(english)
    wide = [line for line in chinese.splitlines() if len(line) < cell_len(line)]
    assert wide
    assert all(cell_len(line) <= 100 for line in wide)


def test_the_page_is_chinese_with_the_same_numbers(saved: Path, tmp_path: Path) -> None:
    pages = [tmp_path / "en.html", tmp_path / "zh.html"]
    for page in pages:
        _said("show", "--html", str(page), "--lang", page.stem, str(saved))
    english, chinese = (page.read_text("utf-8") for page in pages)
    assert '<html lang="zh">' in chinese
    assert _numbers(_visible(chinese)) == _numbers(_visible(english))
    headings = re.findall(r"<h[2-4][^>]*>([^<]+)</h", chinese)
    assert {"概览", "核函数", "改进建议", "逐行源代码", "占用率"} <= set(headings)
    assert not set(headings) & set(re.findall(r"<h[2-4][^>]*>([^<]+)</h", english))
    assert "在共享内存中暂存一个 32 x 33 元素的分块" in chinese


@pytest.mark.parametrize("name", [*ALL, "advised"])
@pytest.mark.parametrize("width", [80, 100])
def test_a_chinese_report_says_nothing_in_english(name: str, width: int) -> None:
    """But names: of units, stalls, metrics, rules and commands, of the program's own; and sentences of faults."""
    run = advised() if name == "advised" else ALL[name]()
    run = replace(run, findings=(), launches=tuple(replace(n, findings=()) for n in run.launches), unsupported=())
    report = report_text(run, width, ("sass",), catalogue("zh"))
    assert all(cell_len(line) <= width for line in report.splitlines() if len(line) < cell_len(line))
    known = set(re.findall(r"[a-z]+", " ".join([*run.sources.values(), *map(str, run.launches), *run.notes]).lower()))
    said = set(re.findall(r"[a-z]{3,}", report.lower()))
    assert said - known <= NAMES


NAMES = {"lanewise", "explain", "ladder", "show", "nsight", "compute", "memory", "theoretical", "sectors", "global",
         "local", "wavefronts", "shared", "ideal", "json", "file", "roofline", "ptx", "cpu", "sass", "transpose",
         "padded", "flop", "gflop", "tflop", "dram", "mixed", "sigsegv"}  # fmt: skip


def test_a_language_that_there_is_none_of_is_one_message(saved: Path) -> None:
    for command in (("show", str(saved)), ("explain", "1.1", str(saved)), ("run", "no-such-program.cu")):
        done = CliRunner().invoke(app, [*command, "--lang", "tlh"])
        assert str(done.exception) == "no reports in 'tlh'"


def test_every_sentence_fits_its_width_and_loses_nothing() -> None:
    sentences = {key: sentence for key, sentence in catalogue("zh").sentences.items() if sentence.strip("，；：")}
    for key, sentence in sentences.items():
        for width in (40, 60, 100):
            lines = text.wrap(sentence, width, first="  1.1  ")
            whole = "".join(lines).replace(" ", "")
            assert whole == "1.1" + sentence.replace(" ", ""), key
            assert all(line[7] not in "，。：；、）" for line in lines), key
            widest = max(map(cell_len, re.findall(r"[!-~`]+", sentence)), default=0)
            assert all(cell_len(line) <= max(width, 7 + widest + 6) for line in lines), (key, lines)
