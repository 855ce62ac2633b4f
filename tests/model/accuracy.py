"""The model beside the card, kernel by kernel: `python tests/model/accuracy.py` runs the programs and writes
`accuracy.json` and `docs/model-accuracy.md`. `first_sight.json` has what the model said of kernels before it was first
changed after they had been measured."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lanewise.device
from lanewise import session
from lanewise.model.launch import DeviceModel, Modelled
from lanewise.request import RunRequest

HERE = Path(__file__).parent
TRUTH = HERE.parent / "truth"
MODELLED = HERE / "accuracy.json"
PAGE = HERE.parents[1] / "docs" / "model-accuracy.md"
SECTOR = 32
SETS = ("effects", "more_kernels", "user_kernels")
FIRST_SIGHT = HERE / "first_sight.json"


@dataclass(frozen=True, slots=True)
class Case:
    """One launch: what the card took and what the model says."""

    name: str
    card: dict[str, float]
    model: dict[str, float]

    def error(self, field: str) -> float:
        return self.model[field] / self.card[field] - 1

    @property
    def l1_points(self) -> float:
        return 100 * (self.model["l1_hit_rate"] - self.card["l1_hit_rate"])


def card(name: str) -> dict[str, dict[str, float]]:
    """What the card did, by case in the order of the program."""
    if name != "effects":
        return _load(TRUTH / f"h200_{name}.json")["cases"]
    memory = _load(TRUTH / "h200_memory.json")["cases"]
    times = _load(TRUTH / "h200_durations.json")
    return {case: {**memory[case], **{k: times[case][k] for k in ("cold_us", "warm_us")}} for case in memory}


def cases(name: str) -> list[Case]:
    """The card beside the modelled values that are committed."""
    return _beside(name, _load(MODELLED)[name])


def first_sight(name: str) -> list[Case]:
    """The card beside what the model said before anybody knew it; empty where that was not kept."""
    modelled = _load(FIRST_SIGHT).get(name)
    return _beside(name, modelled) if modelled else []


def _beside(name: str, modelled: dict[str, dict[str, float]]) -> list[Case]:
    return [Case(case, values, modelled[case]) for case, values in card(name).items()]


def _load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def run(name: str) -> dict[str, dict[str, float]]:
    """Every launch of a program twice: caches emptied before it, and after two launches like it."""
    found: list[tuple[Modelled, Modelled]] = []

    class Both(DeviceModel):
        def launch(self, *arguments: Any) -> Modelled | None:
            self.cold = True
            cold = super().launch(*arguments)
            self.cold = False
            super().launch(*arguments)
            warm = super().launch(*arguments)
            assert cold is not None
            assert warm is not None
            found.append((cold, warm))
            return warm

    kept = lanewise.device.DeviceModel
    lanewise.device.DeviceModel = Both  # type: ignore[misc]
    try:
        result = session.run_program(RunRequest((TRUTH / f"{name}.cu",)))
    finally:
        lanewise.device.DeviceModel = kept  # type: ignore[misc]
    assert result.exit_code == 0, result.findings
    return {case: _values(*both) for case, both in zip(card(name), found, strict=True)}


def _values(cold: Modelled, warm: Modelled) -> dict[str, float]:
    memory = cold.memory
    return {
        "cold_us": cold.timing.time_us,
        "warm_us": warm.timing.time_us,
        "l1_hit_rate": memory.l1_hit_rate or 0.0,
        "l2_sectors": (memory.l2_read_bytes + memory.l2_write_bytes) / SECTOR,
        "dram_read_bytes": memory.dram_read_bytes,
    }


def mean_error(found: list[Case], field: str) -> float:
    """Mean absolute percentage error."""
    return 100 * sum(abs(case.error(field)) for case in found) / len(found)


def near(found: list[Case]) -> dict[str, int]:
    """Cases whose L1 hit rate is within 5 points, and whose L2 sectors and DRAM bytes are within 10%."""
    return {
        "l1": sum(abs(case.l1_points) <= 5 for case in found),
        "l2": sum(abs(case.model["l2_sectors"] - case.card["l2_sectors"]) <= 0.1 * case.card["l2_sectors"]
                  for case in found),
        "dram": sum(
            abs(case.model["dram_read_bytes"] - case.card["dram_read_bytes"])
            <= 0.1 * case.card["dram_read_bytes"] + 65536
            for case in found
        ),
    }  # fmt: skip


_HEAD = """\
# The model beside the card

What an H200 did and what the model says, launch by launch: `tests/truth/effects.cu` (50 launches),
`tests/truth/more_kernels.cu` ({more} launches) and `tests/truth/user_kernels.cu` ({user} launches, as users write
them). Times are the kernel's own (`gpu__time_duration`), cold with caches flushed before each launch, warm with what
the same launch left there. Memory is of the cold launch. No constant of the model is fitted to these times: values of
the H200 come from micro-benchmarks ([caches and time](model.md)).

`make truth` runs the programs again and fails where a number has changed. This page is made from
`tests/model/accuracy.json`.

*At first sight* is what the model said of kernels that it had never been compared with: those of `user_kernels.cu` were
written, modelled and only then measured, on 2026-11-30. What their errors showed to be missing was then mended where
physics or a micro-benchmark says how; the other line is what came of it.

"""


def page() -> str:
    lines = [_HEAD.format(more=len(cases("more_kernels")), user=len(cases("user_kernels")))]
    lines.append(
        "| program | mean error cold | warm | worst | L1 within 5 points | L2 within 10% | DRAM within 10% |\n"
    )
    lines.append("| --- | --- | --- | --- | --- | --- | --- |\n")
    for name in SETS:
        lines += [_summary(f"{name}.cu at first sight", first_sight(name))] if first_sight(name) else []
        lines.append(_summary(f"{name}.cu", cases(name)))
    for name in SETS:
        before = {case.name: case for case in first_sight(name)}
        lines += [f"\n## {name}.cu\n\n", _COLUMNS.format(*(_FIRST if before else ("", "")))]
        lines += [_row(case, before.get(case.name)) for case in cases(name)]
    return "".join(lines)


def _summary(title: str, found: list[Case]) -> str:
    worst = max(found, key=lambda case: max(_factor(case, "cold_us"), _factor(case, "warm_us")))
    factor = max(_factor(worst, "cold_us"), _factor(worst, "warm_us"))
    close = near(found)
    counts = " | ".join(f"{close[key]} of {len(found)}" for key in ("l1", "l2", "dram"))
    errors = f"{mean_error(found, 'cold_us'):.1f}% | {mean_error(found, 'warm_us'):.1f}%"
    return f"| {title} | {errors} | {worst.name}, {factor:.2f}x | {counts} |\n"


_COLUMNS = """\
| launch | cold us | model | error | warm us | model | error | L1 hits | model | DRAM read MB | model |{}
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |{}
"""
_FIRST = " first sight: cold | warm |", " --- | --- |"


def _factor(case: Case, field: str) -> float:
    ratio = 1 + case.error(field)
    return max(ratio, 1 / ratio)


def _row(case: Case, before: Case | None) -> str:
    cells = [case.name]
    for field in ("cold_us", "warm_us"):
        cells += [f"{case.card[field]:.4g}", f"{case.model[field]:.4g}", f"{100 * case.error(field):+.0f}%"]
    cells += [f"{100 * side['l1_hit_rate']:.1f}%" for side in (case.card, case.model)]
    cells += [f"{side['dram_read_bytes'] / 1e6:.1f}" for side in (case.card, case.model)]
    if before is not None:
        cells += [f"{100 * before.error(field):+.0f}%" for field in ("cold_us", "warm_us")]
    return f"| {' | '.join(cells)} |\n"


def main() -> None:
    modelled = {name: run(name) for name in SETS}
    text = json.dumps(modelled).replace("}, ", "},\n").replace('": {"', '":\n{"')
    MODELLED.write_text(text + "\n", encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
