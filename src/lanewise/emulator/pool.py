"""Threads that are kept between launches: to start one costs more than a tiny launch does."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue


class Task:
    """Something that a thread of the pool does. What it calls must not raise."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._running = threading.Lock()
        self._running.acquire()
        _idle_thread().tasks.put(self)

    def ended(self, seconds: float = 0) -> bool:
        """Whether it has ended, or does so within so many seconds."""
        if not self._running.acquire(timeout=seconds):
            return False
        self._running.release()
        return True

    def perform(self, thread: _Thread) -> None:
        """Do it, on that thread, which is free again before anyone hears of the end."""
        try:
            self._work()
            _idle.append(thread)
        finally:
            self._running.release()


class _Thread(threading.Thread):
    def __init__(self) -> None:
        super().__init__(daemon=True, name="lanewise worker")
        self.tasks: SimpleQueue[Task] = SimpleQueue()
        self.start()

    def run(self) -> None:
        while True:
            self.tasks.get().perform(self)


_idle: list[_Thread] = []  # its methods are atomic


def _idle_thread() -> _Thread:
    try:
        return _idle.pop()
    except IndexError:
        return _Thread()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # a forked process has none of the threads
