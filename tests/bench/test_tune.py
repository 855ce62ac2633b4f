"""The search of `lanewise tune` without a card: what is dropped unmeasured, and what a fake timer finds the fastest."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from lanewise.bench.modelled import modelled, slow, smaller
from lanewise.bench.points import blocks, points, prune
from lanewise.cli import bench as command
from lanewise.cli.main import main
from lanewise.gpu.card import Card
from lanewise.hardware.capability import limits
from lanewise.ladder import Plan, load, resolve
from lanewise.records import KernelResources

REDUCE = load("reduce")
RUNG = REDUCE.rung("in_flight")
HOPPER = limits(9, 0)
SIZES = {"n": 1 << 24}
H200 = Card(0, "NVIDIA H200", 90, 132, 226 << 10, 150 << 30)


def compiled(plan: Plan) -> Mapping[str, KernelResources]:
    """As a compiler might have it: more registers for longer loops, which spill from 16 on."""
    unroll = int(plan.defines["UNROLL"])
    given = KernelResources(24 + 4 * unroll, 128, 64 if unroll >= 16 else 0)
    return {launch.kernel: given for launch in plan.launches}


def test_points_are_the_product_of_the_values_that_fit() -> None:
    found = points(REDUCE, RUNG, "f32", SIZES, 132, HOPPER)
    assert "BLOCK=256 UNROLL=2 BLOCKS_PER_SM=8" in found
    assert "BLOCK=1024 UNROLL=2 BLOCKS_PER_SM=4" not in found  # 4096 threads
    assert len(found) == 36


def test_what_cannot_win_is_dropped_with_its_reason() -> None:
    found = points(REDUCE, RUNG, "f32", SIZES, 132, HOPPER)
    pruned = prune(found, compiled, 132, HOPPER)
    assert pruned.kept.keys() | pruned.dropped.keys() == found.keys()
    assert not pruned.kept.keys() & pruned.dropped.keys()
    assert pruned.dropped["BLOCK=256 UNROLL=16 BLOCKS_PER_SM=1"] == "spills registers"
    assert pruned.dropped["BLOCK=1024 UNROLL=8 BLOCKS_PER_SM=2"] == "holds fewer blocks than it asks for"  # 56 x 2048
    assert "BLOCK=512 UNROLL=8 BLOCKS_PER_SM=2" in pruned.kept


def test_a_block_whose_registers_do_not_fit_is_dropped() -> None:
    found = points(REDUCE, RUNG, "f32", SIZES, 132, HOPPER)
    greedy = KernelResources(128, 0, 0)
    pruned = prune(found, lambda plan: {launch.kernel: greedy for launch in plan.launches}, 132, HOPPER)
    assert pruned.dropped["BLOCK=1024 UNROLL=2 BLOCKS_PER_SM=1"] == "does not fit a multiprocessor"


def test_where_all_points_spill_alike_none_is_dropped_for_it() -> None:
    found = points(REDUCE, RUNG, "f32", SIZES, 132, HOPPER)
    spilling = KernelResources(32, 0, 512)
    pruned = prune(found, lambda plan: {launch.kernel: spilling for launch in plan.launches}, 132, HOPPER)
    assert "spills registers" not in pruned.dropped.values()
    assert pruned.kept


def test_too_few_blocks_for_the_multiprocessors() -> None:
    transpose = load("transpose")
    rung = transpose.rung("vectorised")
    few = points(transpose, rung, "f32", {"rows": 512, "columns": 512}, 132, HOPPER)
    pruned = prune(
        few, lambda plan: {launch.kernel: KernelResources(32, 0, 0) for launch in plan.launches}, 132, HOPPER
    )
    assert "leaves multiprocessors idle" in pruned.dropped.values()
    assert pruned.kept


def test_the_smaller_problem_fills_the_card_for_each_point() -> None:
    transpose = load("transpose")
    rung, whole = transpose.rung("vectorised"), {"rows": 16384, "columns": 16384 + 16}
    plans = points(transpose, rung, "f32", whole, 132, HOPPER)
    held = dict.fromkeys(plans, 2)

    def at(sizes: Mapping[str, int]) -> dict[str, Plan]:
        tried = {name: {macro: plan.defines[macro] for macro in rung.search} for name, plan in plans.items()}
        return {name: resolve(transpose, rung, "f32", sizes, tried=tried[name]) for name in plans}

    small = smaller(rung, whole, at, plans, held, 132)
    assert small["rows"] * small["columns"] < 16384 * 16384 / 16
    assert (small["rows"] % 128, small["columns"] % 128) == (0, 16)
    assert min(blocks(plan) for plan in at(small).values()) >= 2 * 132 * 2


def test_sizes_that_macros_are_fitted_to_stay() -> None:
    softmax = load("softmax")
    rung, whole = softmax.rung("registers"), {"rows": 1 << 16, "columns": 2048}
    plan = resolve(softmax, rung, "f32", whole)
    small = smaller(rung, whole, lambda sizes: {"": resolve(softmax, rung, "f32", sizes)}, {"": plan}, {"": 4}, 132)
    assert small == {"rows": 2048, "columns": 2048}


def test_points_of_unlike_modelled_times() -> None:
    times = {"one": 10.0, "near": 14.9, "far": 15.1, "unknown": None}
    assert list(slow(times)) == ["far"]
    assert slow({"unknown": None}) == {}


def test_a_point_is_modelled_in_another_process() -> None:
    """Two points of a search, one that leaves most of a multiprocessor idle; a card without a device file has none."""
    sizes = {"n": 1 << 22}
    plans = {
        f"BLOCK={block}": resolve(REDUCE, RUNG, "f32", sizes, tried={"BLOCK": block, "UNROLL": 2, "BLOCKS_PER_SM": 1})
        for block in (32, 1024)
    }
    held = dict.fromkeys(plans, 1)
    times = modelled(REDUCE, RUNG, "f32", sizes, plans, held, H200, 2)
    assert list(slow(times)) == ["BLOCK=32"]
    other = replace(H200, name="NVIDIA X1")
    assert modelled(REDUCE, RUNG, "f32", sizes, plans, held, other, 2) == {"BLOCK=32": None, "BLOCK=1024": None}


def test_the_search_measures_what_is_left_and_says_what_is_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The whole command, with a card, a compiler and a timer that are made up."""
    monkeypatch.setitem(sys.modules, "torch", MagicMock())
    from lanewise.bench import tune
    from lanewise.bench.timing import Sample

    measured: list[str] = []

    def timer(calls: Mapping[str, object], repeats: int) -> dict[str, Sample]:
        measured.extend(calls)
        times = {name: 50.0 if name == "torch" else 20.0 + len(name) + ("BLOCK=512" not in name) for name in calls}
        return {name: Sample(time, time - 1, time + 1, False) for name, time in times.items()}

    launcher = SimpleNamespace(
        card=H200, load=lambda plans, skip_failing: None, has=lambda plan: True, resources=compiled
    )

    def model(
        subject: object, rung: object, element: str, sizes: object, plans: Mapping[str, Plan], *_: object
    ) -> dict[str, float | None]:
        times: dict[str, float | None] = {name: 31.0 if "BLOCK=256" in name else 20.0 for name in plans}
        return {**times, "BLOCK=256 UNROLL=2 BLOCKS_PER_SM=1": None}

    work = SimpleNamespace(inputs=lambda *_: {}, peers=lambda *_: {"torch": lambda: None})
    monkeypatch.setattr(tune, "WORKS", {"reduce": work})
    monkeypatch.setattr(tune, "modelled", model)
    monkeypatch.setattr(tune, "check", lambda *_: 0.0)
    monkeypatch.setattr(tune, "poison", lambda *_, host: None)
    monkeypatch.setattr(tune, "prepare", lambda *_: lambda: None)
    monkeypatch.setattr(tune, "time_together", timer)
    monkeypatch.setattr(command, "find", lambda: H200)
    monkeypatch.setattr(command, "Launcher", lambda card, workers: launcher)
    monkeypatch.setattr(command, "why_not", lambda: None)
    assert main(["tune", "reduce", "in_flight", "--size", str(1 << 24)]) == 0
    out = capsys.readouterr().out
    assert "not measured, for they cannot win: " in out
    assert "spills registers" in out
    assert "modelled at more than 1.5 times the best" in out
    assert "measured without a modelled time: 1" in out
    assert not any("UNROLL=16" in name for name in measured)
    assert [name for name in measured if "BLOCK=256" in name] == ["BLOCK=256 UNROLL=2 BLOCKS_PER_SM=1"]
    best = next(line for line in out.splitlines() if "BLOCK=" in line)
    assert best.endswith("BLOCK=512 UNROLL=2 BLOCKS_PER_SM=1")


def test_calls_do_not_always_follow_the_same_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", MagicMock())
    from lanewise.bench import timing

    card = MagicMock()
    card.cuda.Event.return_value.elapsed_time.return_value = 0.5
    monkeypatch.setattr(timing, "torch", card)
    called: list[str] = []
    calls = {name: (lambda name=name: called.append(name)) for name in ("copy", "torch", "one", "other")}
    samples = timing.time_together(calls, 12)
    assert {sample.median for sample in samples.values()} == {500.0}
    rounds = [called[first : first + 4] for first in range(8, len(called), 4)]
    assert [sorted(each) for each in rounds] == [sorted(calls)] * 12
    assert {each[each.index("one") - 1] for each in rounds if each[0] != "one"} == {"copy", "torch", "other"}
