"""What advice promises beside what an H200 gains: `python tests/advice/accuracy_of_gains.py` runs `effects.cu` with
advice and writes `gains.json` and `docs/advice-accuracy.md`."""

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
PROMISED = HERE / "gains.json"
PAGE = HERE.parents[1] / "docs" / "advice-accuracy.md"
WITHIN = 1.5  # times what is measured, or one over it


@dataclass(frozen=True, slots=True)
class Pair:
    """Two launches of the program, the second with the change that `rule` advises for the first."""

    before: str
    after: str
    rule: str

    @property
    def name(self) -> str:
        return f"{self.before} -> {self.after}"


PAIRS = [
    Pair("gemm_uncoalesced", "gemm_naive", "uncoalesced_by_swapped_index"),
    Pair("gemm_naive", "gemm_tiled_32", "re_read_data"),
    Pair("gemm_naive_16", "gemm_tiled_16", "re_read_data"),
    Pair("gemm_tiled_32", "gemm_register_64_8x4", "shared_traffic"),
    Pair("gemm_tiled_transposed_store_32", "gemm_tiled_32", "bank_conflict"),
    Pair("gemm_tiled_transposed_store_16", "gemm_tiled_16", "bank_conflict"),
    *(Pair(f"copy_stride_{stride}", "copy_offset_8", "strided_access") for stride in (2, 4, 8, 32)),
    Pair("aos_sum", "soa_sum", "array_of_structs"),
    Pair("copy_offset_8", "copy_float4", "narrow_access"),
    Pair("transpose_naive", "transpose_padded", "strided_access"),
    Pair("transpose_shared", "transpose_padded", "bank_conflict"),
    *(Pair(f"bank_stride_{stride}", "bank_stride_33", "bank_conflict") for stride in (2, 4, 8, 16, 32)),
    Pair("reduce_divergent", "reduce_sequential", "lane_divergence"),
    Pair("reduce_conflict", "reduce_sequential", "bank_conflict"),
    Pair("reduce_divergent", "reduce_shuffle", "short_reduction"),
    Pair("reduce_sequential", "reduce_shuffle", "short_reduction"),
    Pair("histogram_global", "histogram_shared", "contended_atomics"),
    Pair("constant_divergent", "constant_broadcast", "divergent_constant"),
    Pair("branch_lane", "branch_warp", "lane_divergence"),
]


# Pairs that differ by more than `WITHIN`, and why.
NAMED = {
    "gemm_tiled_32 -> gemm_register_64_8x4": "The finding counts tiles read 16 bytes at a time and stored without "
    "conflicts. The kernel of the file reads single words and stores its tile with 8-way conflicts; the ladder's best "
    "product of this size takes 63.7 us on the card, 3.7x ([measured](ladder/measured.md)).",
    "constant_divergent -> constant_broadcast": "Not the change that is advised: lanes that need different elements "
    "cannot all read one. The finding counts a table in shared memory, a wavefront and more for each read.",
}
# Pairs whose change gains about what a finding needs (5%) or less: nothing is said.
SILENT = {
    "bank_stride_2 -> bank_stride_33",
    "bank_stride_4 -> bank_stride_33",
    "reduce_divergent -> reduce_sequential",
}


def measured() -> dict[str, float]:
    """Warm microseconds of each launch on the card."""
    return {name: values["warm_us"] for name, values in _load(TRUTH / "h200_durations.json").items()}


def promised() -> dict[str, dict[str, list[float]]]:
    """Launch -> rule -> microseconds before and after, as committed."""
    found: dict[str, dict[str, list[float]]] = _load(PROMISED)
    return found


def _load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def run(names: list[str]) -> dict[str, dict[str, list[float]]]:
    """The findings with a gain of these launches, each after two launches like it. Of several findings of one rule the
    one that promises most."""

    class Warm(DeviceModel):
        def launch(self, *arguments: Any) -> Modelled | None:
            super().launch(*arguments)
            super().launch(*arguments)
            return super().launch(*arguments)

    kept = lanewise.device.DeviceModel
    lanewise.device.DeviceModel = Warm  # type: ignore[misc]
    try:
        result = session.run_program(RunRequest((TRUTH / "effects.cu",), arguments=tuple(names)))
    finally:
        lanewise.device.DeviceModel = kept  # type: ignore[misc]
    assert result.exit_code == 0, result.findings
    in_order = [name for name in measured() if name in names]
    found: dict[str, dict[str, list[float]]] = {}
    for name, launch in zip(in_order, result.launches, strict=True):
        found[name] = {}
        for finding in launch.advice:
            if finding.gain is not None:
                found[name].setdefault(finding.check, [finding.gain.before_us, finding.gain.after_us])
    return found


def gain(pair: Pair) -> tuple[float, float | None]:
    """Times faster: measured, and promised where there is a finding."""
    times = measured()
    found = promised()[pair.before].get(pair.rule)
    return times[pair.before] / times[pair.after], found[0] / found[1] if found else None


def is_near(pair: Pair) -> bool:
    card, said = gain(pair)
    return said is not None and 1 / WITHIN <= said / card <= WITHIN


_HEAD = """\
# Gains promised and measured

What a finding promises beside what the change gained on an H200: pairs of launches of `tests/truth/effects.cu`, the
second of which is the first with the change that the rule advises. Measured are warm times of the kernels themselves
(`gpu__time_duration`). A gain is the time before over the time after. The launches run with advice after two launches
like them, so that caches are as warm as they were on the card.

{near} of {all} are within a factor of 1.5.

`make truth` runs the program again and fails where a promise has changed. This page is made from
`tests/advice/gains.json`.

| before -> after | rule | measured | promised | quotient |
| --- | --- | --- | --- | --- |
"""


def page() -> str:
    lines = [_HEAD.format(near=sum(map(is_near, PAIRS)), all=len(PAIRS))]
    for pair in PAIRS:
        card, said = gain(pair)
        cells = [pair.name, f"[{pair.rule}](rules/{pair.rule}.md)", f"{card:.2f}x"]
        cells += ["none", ""] if said is None else [f"{said:.2f}x", f"{said / card:.2f}"]
        lines.append(f"| {' | '.join(cells)} |\n")
    lines.append("\n## The others\n\n")
    for pair in PAIRS:
        if pair.name in NAMED:
            lines.append(f"- {pair.name}: {NAMED[pair.name]}\n")
        elif pair.name in SILENT:
            lines.append(f"- {pair.name}: no more than 5% to gain, on the card as in the model, and no finding.\n")
    return "".join(lines)


def main() -> None:
    text = json.dumps(run([pair.before for pair in PAIRS])).replace("}, ", "},\n")
    PROMISED.write_text(text + "\n", encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
