"""Runs shared with further processes: the same answers, failures that are seen."""

import os
import pickle

import pytest

from lanewise.hardware import device
from lanewise.ladder import load
from lanewise.ladder.rows import Ask, Emulated, ran
from lanewise.ladder.share import shared

WHO = "(__import__('time').sleep(0.4), __import__('os').getpid())[1]"


def test_helpers_take_tasks_and_every_task_has_its_answer() -> None:
    tasks = [f"{WHO} + {number} * 0" for number in range(8)]
    told: list[str] = []
    answers = shared(eval, tasks, processes=2, patience=0, told=told.append)
    assert sorted(answers) == sorted(told) == tasks
    assert len(set(answers.values())) == 2
    assert answers[tasks[0]] == os.getpid()


def test_one_process_is_enough() -> None:
    assert shared(eval, ["1 + 1", "2 + 2"], processes=1) == {"1 + 1": 2, "2 + 2": 4}


def test_what_a_helper_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        shared(eval, [WHO + " + 1", WHO + " + 2", WHO + " + 3", "1 / 0"], processes=2, patience=0)


def test_the_task_of_a_helper_that_dies_is_run_here() -> None:
    deadly = f"__import__('os')._exit(3) if __import__('os').getpid() != {os.getpid()} else 7"
    answers = shared(eval, [WHO + " + 1", WHO + " + 2", WHO + " + 3", deadly], processes=2, patience=0)
    assert answers[deadly] == 7
    assert len(answers) == 4


def test_a_run_comes_back_whole_from_another_process() -> None:
    divergence, spec = load("divergence"), device.load("h200")
    rung = divergence.rung("by_lane")
    ask = Ask("divergence", "by_lane", spec.key, (("n", 256),), "f32")
    here, there = Emulated(divergence, spec), Emulated(divergence, spec)
    found = pickle.loads(pickle.dumps(ran(ask)))
    assert found is not None
    there._known[ask.rung, ask.sizes, ask.element] = found
    assert there.row(rung, {"n": 256}) == here.row(rung, {"n": 256})


def test_a_run_that_is_refused_has_no_answer() -> None:
    assert ran(Ask("gemm", "wgmma", "t4", (("m", 64),), "bf16")) is None
