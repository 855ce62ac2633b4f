"""Work of several seconds a piece, shared with further processes of this machine.

Translating a kernel keeps one core busy, part of the time under Python's lock, so threads would not do.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

Task = TypeVar("Task")
Answer = TypeVar("Answer")

PATIENCE = 1.0  # seconds that this process works alone: a helper takes as long to start
_FEW = 4  # tasks that are not worth a helper


def shared(
    run: Callable[[Task], Answer],
    tasks: Sequence[Task],
    *,
    processes: int | None = None,
    patience: float = PATIENCE,
    told: Callable[[Task], None] | None = None,
) -> dict[Task, Answer]:
    """The answers by task, each of which is run once. `told` hears of each task as it begins.

    This process takes tasks from the front. After `patience` seconds helpers (`processes` in all; one a core by
    default) take them from the back; `run` and tasks must be picklable. What `run` raises is raised; where a
    helper dies this process runs its task.
    """
    left = deque(tasks)
    answers: dict[Task, Answer] = {}
    began = time.monotonic()
    allowed = processes or len(os.sched_getaffinity(0))
    while left and (allowed == 1 or len(left) < _FEW or time.monotonic() - began < patience):
        _here(run, left, answers, told)
    if not left:
        return answers
    failures: list[BaseException] = []
    with ProcessPoolExecutor(allowed - 1, mp_context=get_context("spawn")) as pool:
        helpers = [
            threading.Thread(target=_there, args=(pool, run, left, answers, told, failures)) for _ in range(allowed - 1)
        ]
        for helper in helpers:
            helper.start()
        try:
            while left and not failures:
                _here(run, left, answers, told)
        finally:
            left.clear()
            for helper in helpers:
                helper.join()
    if failures:
        raise failures[0]
    for task in tasks:
        if task not in answers:
            _here(run, deque([task]), answers, told)
    return answers


def _here(
    run: Callable[[Task], Answer],
    left: deque[Task],
    answers: dict[Task, Answer],
    told: Callable[[Task], None] | None,
) -> None:
    try:
        task = left.popleft()
    except IndexError:  # a helper was faster
        return
    if told:
        told(task)
    answers[task] = run(task)


def _there(
    pool: Executor,
    run: Callable[[Task], Answer],
    left: deque[Task],
    answers: dict[Task, Answer],
    told: Callable[[Task], None] | None,
    failures: list[BaseException],
) -> None:
    """Give tasks to a process, one at a time."""
    while True:
        try:
            task = left.pop()
        except IndexError:
            return
        if told:
            told(task)
        try:
            answers[task] = pool.submit(run, task).result()
        except (OSError, BrokenExecutor):
            return
        except BaseException as error:
            failures.append(error)
            return
