"""A report beside a profile of Nsight Compute: `report/profile.py`, `report/compare.py` and the command."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from lanewise.cli.main import main
from lanewise.errors import EnvironmentProblem, UsageError
from lanewise.records import LaunchRecord, RunResult
from lanewise.report.compare import DEPARTURES, Row, base_name, compare
from lanewise.report.json import to_json
from lanewise.report.profile import ProfiledLaunch, from_csv, read_profile
from lanewise.report.source_page import ProfiledInstruction
from lanewise.request import RunRequest
from lanewise.session import run_program

ROOT = Path(__file__).parents[2]
TRUTH = ROOT / "tests/truth"
GLOBAL = "memory_l2_theoretical_sectors_global"
SHARED = "memory_l1_wavefronts_shared"
CASES = ("copy_float4", "bank_stride_4")


def raw_page(rows: list[dict[str, str]], units: dict[str, str] | None = None) -> str:
    """As `ncu --csv --page raw` prints it."""
    out = io.StringIO()
    out.write("==PROF== Connected to process 12\n")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerow(rows[0])
    writer.writerow([(units or {}).get(name, "") for name in rows[0]])
    writer.writerows(row.values() for row in rows)
    return out.getvalue()


def row(kernel: str, grid: tuple[int, int, int], block: tuple[int, int, int], **metrics: str) -> dict[str, str]:
    names = {"ID": "0", "Kernel Name": kernel, "Block Size": str(block), "Grid Size": str(grid), "CC": "9.0"}
    return {**names, **metrics}


def launch(kernel: str = "k(float*)", **fields: object) -> LaunchRecord:
    plain = LaunchRecord(0, kernel, kernel, (4, 1, 1), (32, 1, 1), 0, None, None, "h200", 0, 0, 0)
    return replace(plain, **{"instructions": 100, "thread_instructions": 3200, **fields})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def counted() -> RunResult:
    """Two kernels of the truth, counted."""
    request = RunRequest(inputs=(TRUTH / "effects.cu",), flags=("-O1", "-lineinfo", "-std=c++17"), arguments=CASES)
    return run_program(request)


def measured(result: RunResult) -> str:
    """What the card counted for them, as a raw page."""
    cases = json.loads((TRUTH / "h200_effects_machine.json").read_text())["cases"]
    rows = []
    for record in result.launches:
        case = cases[next(name for name in CASES if cases[name]["instructions"] and name in _case_of(record))]
        sums = {kind: [sum(a[k] for a in case["accesses"] if a[1] == kind) for k in (5, 6)] for kind in "gs"}
        values = {
            "inst_executed": case["instructions"], "thread_inst_executed": case["thread_instructions"],
            "launch__registers_per_thread": case["registers"],
            "sm__maximum_warps_per_active_cycle_pct": case["occupancy"],
            GLOBAL: sums["g"][0], f"{GLOBAL}_ideal": sums["g"][1],
            SHARED: sums["s"][0], f"{SHARED}_ideal": sums["s"][1],
        }  # fmt: skip
        printed = {name: f"{value:,}" for name, value in values.items()}
        rows.append(row(record.kernel.replace("float*", "float *"), record.grid, record.block, **printed))
    return raw_page(rows)


def _case_of(record: LaunchRecord) -> str:
    return "copy_float4" if "copy" in record.kernel else "bank_stride_4"


def test_what_a_card_counted_has_the_ratio_one(
    counted: RunResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out.json").write_text(to_json(counted))
    (tmp_path / "profile.csv").write_text(measured(counted))
    assert main(["compare", str(tmp_path / "out.json"), str(tmp_path / "profile.csv")]) == 0
    out = capsys.readouterr().out
    assert "2 launches: 16 of 16 values equal." in out
    assert [line.split()[-1] for line in out.splitlines() if GLOBAL in line] == ["1"] * 4
    assert re.search(rf"{GLOBAL} +1,048,576 +1,048,576 +1\n", out)


@pytest.mark.parametrize(("page", "values"), [("raw", 24), ("source", 35)])
def test_pages_as_the_profiler_wrote_them(
    counted: RunResult, page: str, values: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two launches of `effects.cu` on an H200, by Nsight Compute 2025.3; some columns are left out. It prints each
    source page twice."""
    (tmp_path / "out.json").write_text(to_json(counted))
    assert main(["compare", str(tmp_path / "out.json"), str(Path(__file__).parent / f"ncu_{page}.csv")]) == 0
    out = capsys.readouterr().out
    assert f"2 launches: {values} of {values} values equal.\n" in out
    assert "Not in the" not in out


def source_page(result: RunResult) -> str:
    """What the card counted for each memory instruction of them, with the text and the offsets of our listing."""
    cases = json.loads((TRUTH / "h200_effects_machine.json").read_text())["cases"]
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    for record in result.launches:
        texts = {a.sass_offset: a.sass for a in record.accesses}
        writer.writerow(["Kernel Name", record.kernel])
        names = ["Instructions Executed", "Thread Instructions Executed"]
        sums = ["L2 Theoretical Sectors Global", "L1 Wavefronts Shared"]
        writer.writerow(["#", "Address", "Source", *names, *sums, *(f"{name} Ideal" for name in sums)])
        writer.writerow(["0", "0x7f00a00", "LDC R1, c[0x0][0x28]", *"000000"])
        for at, kind, _, warps, threads, cost, ideal in cases[_case_of(record)]["accesses"]:
            costs = [cost, 0, ideal, 0] if kind == "g" else [0, cost, 0, ideal]
            writer.writerow(["1", hex(0x7F00A00 + at), texts.get(at, "NOP"), warps, threads, *costs])
    return out.getvalue()


def test_single_instructions_of_a_source_page(
    counted: RunResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out.json").write_text(to_json(counted))
    (tmp_path / "profile.csv").write_text(source_page(counted))
    assert main(["compare", str(tmp_path / "out.json"), str(tmp_path / "profile.csv")]) == 0
    out = capsys.readouterr().out
    assert re.search(
        rf"0x00c0 LDG\.E\.128 .*\n +inst_executed +32,768 +32,768 +1\n.*\n +{GLOBAL} +524,288 +524,288 +1", out
    )
    beside = compare(counted.launches, list(from_csv(source_page(counted), "p.csv"))).launches
    ratios = [row.ratio for pair in beside for _, rows in pair.instructions for row in rows]
    assert len(ratios) >= 20
    assert set(ratios) == {1}


def test_other_machine_code_is_not_compared_by_instruction(counted: RunResult) -> None:
    page = source_page(counted).replace("LDG", "LDGSTS")
    assert all(
        pair.other_code and not pair.instructions
        for pair in compare(counted.launches, list(from_csv(page, "p.csv"))).launches
    )


def test_what_differs_names_the_departures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out.json").write_text(to_json(RunResult("p.cu", "h200", "sm_90", 0, (launch(), launch("other")), {})))
    rows = [row("void k(float *)", (4, 1, 1), (32, 1, 1), inst_executed="80", thread_inst_executed="3,200")]
    (tmp_path / "p.csv").write_text(raw_page(rows))
    assert main(["compare", str(tmp_path / "out.json"), str(tmp_path / "p.csv")]) == 0
    out = capsys.readouterr().out
    assert re.search(r" inst_executed +100 +80 +1\.25 +M1, M6, M7, M8, M9, M10, D25\n", out)
    assert re.search(r" thread_inst_executed +3,200 +3,200 +1\n", out)
    assert "1 launch: 1 of 2 values equal." in out
    assert "Not in the profile: 1 launch, the first other  <<<4, 32>>>." in out


def test_launches_are_matched_in_order_by_name_grid_and_block() -> None:
    ours = [launch(instructions=1), launch(instructions=2), launch(instructions=3, grid=(5, 1, 1))]
    profiled = [
        ProfiledLaunch("k", grid, (32, 1, 1), {"inst_executed": n})
        for grid, n in (((5, 1, 1), 3.0), ((4, 1, 1), 1.0), ((4, 1, 1), 2.0), ((6, 1, 1), 4.0))
    ]
    result = compare(ours, profiled)
    assert [pair.rows[0].ratio for pair in result.launches] == [1, 1, 1]
    assert (result.only_ours, result.only_theirs) == ((), (profiled[3],))


@pytest.mark.parametrize("unit", ["smsp", "sm"])
def test_counters_of_a_unit_are_its_instructions(unit: str) -> None:
    profiled = ProfiledLaunch("k", (4, 1, 1), (32, 1, 1), {f"{unit}__inst_executed.sum": 100.0})
    (pair,) = compare([launch()], [profiled]).launches
    assert [(r.metric, r.ratio) for r in pair.rows] == [("inst_executed", 1)]


def test_without_machine_code_there_is_nothing_to_compare_with() -> None:
    profiled = ProfiledLaunch("k", (4, 1, 1), (32, 1, 1), {"inst_executed": 3.0, GLOBAL: 8.0})
    (pair,) = compare([launch(instructions=None)], [profiled]).launches
    assert [(r.metric, r.ours, r.departures) for r in pair.rows] == [
        ("inst_executed", None, ("D21",)),
        (GLOBAL, None, ("D21",)),
    ]


def test_ratios() -> None:
    assert Row("m", 0, 0, ()).ratio == 1
    assert Row("m", 3, 0, ()).ratio is None
    assert Row("m", 3, 2, ()).ratio == 1.5


@pytest.mark.parametrize(
    "name",
    ["hist", "hist(int *)", "void lib::hist<(int)64, lib::op<(bool)1>>(const int *)", "_ZN3lib4histILi64EEEvPKi",
     "(anonymous namespace)::hist(int)", "void <unnamed>::hist<float>(T1 *)"],
)  # fmt: skip
def test_names_of_a_kernel(name: str) -> None:
    assert base_name(name) == "hist"


def test_cells_and_units() -> None:
    rows = [row("k", (4, 1, 1), (32, 1, 1), a_b="1,234 (1; 2)", launch__x="8.19", c_d="n/a", e_f="1.5e3")]
    (found,) = from_csv(raw_page(rows, {"launch__x": "Kbyte/block", "CC": "x"}), "p.csv")
    assert found.metrics == {"a_b": 1234, "launch__x": pytest.approx(8190), "e_f": 1500}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has no header with Kernel Name"),
        ('"a","b\n', "is not CSV"),
        ('"Kernel Name","Grid Size","Block Size","Metric Name"\n', "the page `details`"),
        ('"Kernel Name","Grid Size","Block Size"\n"k","(1,1,1)"\n', "launch 0 has 2 columns, the header 3"),
        ('"Kernel Name","Grid Size","Block Size"\n"k","four","(1,1,1)"\n', "'four' is not a grid"),
        ('"Kernel Name","Grid Size","Block Size"\n', "has no launches"),
        ('"Kernel Name","k"\n"Address","Source"\n"0x10"\n', "a row of k has 1 columns, its header 2"),
        ('"Kernel Name","k"\n"Address","Source"\n"here","NOP"\n', "is no source page: invalid literal"),
        ('"Kernel Name","k"\n"Line No","Source","Address","Source"\n', "nor a source page of SASS"),
    ],
)
def test_broken_profiles(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(UsageError, match=re.escape(says)) as caught:
        read_profile(tmp_path / "p.csv")
    assert "--page raw" in (caught.value.next_step or "")


def test_nothing_in_common() -> None:
    with pytest.raises(UsageError, match=r"the report has k of grid .*, block .* the profile j of grid"):
        compare([launch()], [ProfiledLaunch("j", (4, 1, 1), (32, 1, 1), {"inst_executed": 1.0})])
    with pytest.raises(UsageError, match="none of the metrics"):
        compare([launch()], [ProfiledLaunch("k", (4, 1, 1), (32, 1, 1), {"dram__bytes": 1.0})])


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["compare", str(tmp_path / "no.json"), str(tmp_path / "no.csv")]) == 2
    assert "cannot read" in capsys.readouterr().err


def test_reports_of_the_profiler_need_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "p.ncu-rep").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "ncu_report", None)
    with pytest.raises(EnvironmentProblem, match="ncu_report, which is not there"):
        read_profile(tmp_path / "p.ncu-rep")


def test_reports_of_the_profiler_by_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A stand-in with the package's interface."""
    (tmp_path / "p.ncu-rep").write_bytes(b"")
    dims = {f"launch__{of}_dim_{axis}": 1 for of in ("grid", "block") for axis in "xyz"}
    metrics = {**dims, "launch__grid_dim_x": 4, "launch__block_dim_x": 32, "inst_executed": 7, "device": "H200"}
    executed = [(0x7F10, 60), (0x7F00, 40)]  # address, executions
    action = SimpleNamespace(
        NameBase_DEMANGLED=1,
        name=lambda base: "k(float *)",
        metric_names=lambda: list(metrics),
        sass_by_pc=lambda address: f"NOP {address:#x} ",
        metric_by_name=lambda name: SimpleNamespace(
            value=lambda: metrics[name],
            num_instances=lambda: len(executed),
            as_uint64=lambda n: executed[n][1],
            correlation_ids=lambda: SimpleNamespace(as_uint64=lambda n: executed[n][0]),
        ),
    )
    actions = SimpleNamespace(num_actions=lambda: 1, action_by_idx=lambda index: action)
    package = ModuleType("ncu_report")
    package.load_report = lambda path: SimpleNamespace(  # type: ignore[attr-defined]
        num_ranges=lambda: 1, range_by_idx=lambda index: actions
    )
    monkeypatch.setitem(sys.modules, "ncu_report", package)
    (profiled,) = read_profile(tmp_path / "p.ncu-rep")
    assert profiled.instructions == {
        0: ProfiledInstruction("NOP 0x7f00", {"inst_executed": 40}),
        16: ProfiledInstruction("NOP 0x7f10", {"inst_executed": 60}),
    }
    (pair,) = compare([launch()], [profiled]).launches
    assert [(r.metric, r.ratio) for r in pair.rows] == [("inst_executed", 1)]


def test_departures_are_on_the_pages() -> None:
    pages = (ROOT / "docs/departures.md").read_text() + (ROOT / "docs/machine-code.md").read_text()
    for number in {number for numbers in DEPARTURES.values() for number in numbers}:
        assert f"**{number}. " in pages
