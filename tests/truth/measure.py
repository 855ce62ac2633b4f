"""Measures the programs of this folder on an H200: writes h200_NAME_machine.json from what Nsight Compute counts.

    python tests/truth/measure.py NAME ...            builds, runs and profiles NAME.cu (nvcc, ncu, a card of sm_90)
    python tests/truth/measure.py --report FILE NAME  takes a profile that was made so before

Both need the Python package ncu-report. A profile has the metrics of METRICS, and one launch a case.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
EXECUTED = ("inst_executed", "thread_inst_executed")
SECTORS = ("memory_l2_theoretical_sectors_global", "memory_l2_theoretical_sectors_global_ideal")
WAVEFRONTS = ("memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal")
LOCAL = ("memory_l2_theoretical_sectors_local",)
LAUNCH = ("launch__registers_per_thread", "sm__maximum_warps_per_active_cycle_pct")
METRICS = (*EXECUTED, *SECTORS, *WAVEFRONTS, *LOCAL, *LAUNCH)
# Spaces that a memory instruction may touch: of generic ones (LD, ST, ATOM) those where anything was counted.
SPACES = {
    "g": ("LDG", "STG", "ATOMG", "RED", "REDG", "LDGSTS", "LD", "ST", "ATOM"),
    "s": ("LDS", "STS", "LDSM", "STSM", "ATOMS", "LDGSTS", "LD", "ST", "ATOM"),
    "l": ("LDL", "STL", "LD", "ST", "ATOM"),
}
COSTS = {"g": SECTORS, "s": WAVEFRONTS, "l": LOCAL}
NOTE = (
    "Counted by Nsight Compute on an H200, program built with nvcc 13.0 -O3 -arch=sm_90 -lineinfo (tests/truth/"
    "measure.py). Per machine instruction of memory: [offset, class (g global, s shared, l local; a after it: atomic), "
    "source line, executions by warps, by threads, sectors or wavefronts, the ideal of these]. registers: "
    "launch__registers_per_thread; occupancy: sm__maximum_warps_per_active_cycle_pct."
)


def profile(name: str, folder: Path) -> tuple[Path, list[str]]:
    """The profile of a program, and its cases in order of launches."""
    program, report = folder / name, folder / f"{name}.ncu-rep"
    flags = ("-O3", "-arch=sm_90", "-lineinfo", "-std=c++17")
    subprocess.run(["nvcc", *flags, "-o", str(program), str(HERE / f"{name}.cu")], check=True)
    command = ["ncu", "-f", "-o", str(report), "--clock-control", "none", "--import-source", "no"]
    subprocess.run([*command, "--metrics", ",".join(METRICS), str(program)], check=True, stdout=subprocess.DEVNULL)
    return report, case_names(subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout)


def case_names(printed: str) -> list[str]:
    return [line.removeprefix("case ") for line in printed.splitlines() if line.startswith("case ")]


def launches(report: Path) -> Iterator[dict[str, Any]]:
    """What is kept of each launch of a profile."""
    context = importlib.import_module("ncu_report").load_report(str(report))
    for r in range(context.num_ranges()):
        for a in range(context.range_by_idx(r).num_actions()):
            yield _launch(context.range_by_idx(r).action_by_idx(a))


def _launch(action: Any) -> dict[str, Any]:
    values = {name: _by_address(action.metric_by_name(name)) for name in METRICS if name not in LAUNCH}
    executed = values["inst_executed"]
    first = min(executed)
    accesses = []
    for address in sorted(executed):
        text = action.sass_by_pc(address).split() or ["?"]
        name = text[1 if text[0].startswith("@") else 0].partition(".")[0]
        if text[0] == "@!PT":
            continue
        source = action.source_info(address)
        for space, names in SPACES.items():
            costs = [values[metric].get(address, 0) for metric in COSTS[space]]
            if name in names and (space == "g" or len(_spaces(name)) == 1 or any(costs)):
                atomic = "a" if name in ("ATOM", "ATOMG", "ATOMS", "RED", "REDG") else ""
                line = source.line() if source is not None else 0
                ran = [values[metric][address] for metric in EXECUTED]
                accesses.append([address - first, space + atomic, line, *ran, *costs])
    registers, occupancy = (action.metric_by_name(name).value() for name in LAUNCH)
    return {
        "registers": int(registers),
        "occupancy": round(occupancy, 4),
        "instructions": sum(executed.values()),
        "thread_instructions": sum(values["thread_inst_executed"].values()),
        "accesses": accesses,
    }


def _spaces(name: str) -> list[str]:
    return [space for space, names in SPACES.items() if name in names]


def _by_address(metric: Any) -> dict[int, int]:
    addresses = metric.correlation_ids()
    return {addresses.as_uint64(n): metric.as_uint64(n) for n in range(metric.num_instances())}


def write(name: str, cases: Sequence[str], found: Sequence[dict[str, Any]]) -> None:
    if len(cases) != len(found):
        raise SystemExit(f"{name}: {len(cases)} cases, but {len(found)} launches in the profile")
    rows = ",\n".join(
        f"  {json.dumps(case)}: {json.dumps(launch, separators=(',', ':'))}"
        for case, launch in zip(cases, found, strict=True)
    )
    text = f'{{\n "note": {json.dumps(NOTE)},\n "cases": {{\n{rows}\n }}\n}}\n'
    (HERE / f"h200_{name}_machine.json").write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", help="programs of this folder, without .cu")
    parser.add_argument("--report", type=Path, help="a profile; beside it FILE.cases, what the program printed")
    parser.add_argument("--folder", type=Path, default=Path("/tmp"), help="for programs and profiles")
    options = parser.parse_args()
    for name in options.names:
        if options.report is not None:
            report, cases = options.report, case_names(options.report.with_suffix(".cases").read_text())
        else:
            report, cases = profile(name, options.folder)
        write(name, cases, list(launches(report)))


if __name__ == "__main__":
    main()
