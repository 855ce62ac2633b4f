"""Threads that are kept between launches."""

from __future__ import annotations

import os
import threading
from functools import partial

import pytest

from lanewise.emulator.pool import Task


def test_tasks_run_side_by_side_and_end() -> None:
    both = threading.Barrier(2)
    tasks = [Task(partial(both.wait, 30)) for _ in range(2)]  # type: ignore[arg-type]
    assert all(task.ended(30) for task in tasks)
    assert all(task.ended() for task in tasks)


def test_a_task_that_runs_has_not_ended() -> None:
    go = threading.Event()
    task = Task(go.wait)  # type: ignore[arg-type]
    assert not task.ended(0.01)
    go.set()
    assert task.ended(30)


def test_threads_serve_again() -> None:
    seen: list[int] = []

    def note() -> None:
        seen.append(threading.get_ident())

    for _ in range(20):
        assert Task(note).ended(30)
    assert len(set(seen)) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    assert Task(lambda: None).ended(30)
    child = os.fork()
    if child == 0:
        os._exit(0 if Task(lambda: None).ended(30) else 1)
    assert os.waitpid(child, 0)[1] == 0
