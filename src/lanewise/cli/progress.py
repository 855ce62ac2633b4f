"""One line on standard error while a long kernel runs: how far it is, and an estimate of the rest."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from lanewise.report import text

ERASE = "\r\x1b[2K"


class ProgressLine:
    """A `lanewise.request.Progress`, for a terminal. Silent for the first `patience` seconds of a run.

    The line is erased when a launch is done, so that the program's own output never runs into it.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        patience: float = 2.0,
        interval: float = 0.25,
        width: int = 80,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._patience = patience
        self._interval = interval
        self._width = width
        self._clock = clock
        self._lock = threading.Lock()
        self._run_began: float | None = None
        self._launch: tuple[str, int] | None = None  # kernel and blocks of the launch that is running
        self._launch_began = 0.0
        self._last_done = 0
        self._launches = 0
        self._drawn_at = float("-inf")
        self._visible = False

    def __call__(self, done: int, total: int, kernel: str) -> None:
        with self._lock:
            now = self._clock()
            if self._run_began is None:
                self._run_began = now
            if self._launch != (kernel, total) or done < self._last_done:
                self._launch, self._launch_began = (kernel, total), now
                self._launches += 1
            self._last_done = done
            if done >= total:
                self._launch = None
                self._erase()
            elif now - self._run_began >= self._patience and now - self._drawn_at >= self._interval:
                self._draw(self._line(done, total, kernel, now - self._launch_began), now)

    def close(self) -> None:
        with self._lock:
            self._erase()

    def _line(self, done: int, total: int, kernel: str, elapsed: float) -> str:
        state = f": {text.count(done)} of {text.count(total)} blocks ({text.percent(done, total)})"
        if done and elapsed >= 1:
            state += f", about {duration(elapsed * (total - done) / done)} left"
        launch = f"launch {text.count(self._launches)}, " if self._launches > 1 else ""
        room = self._width - len(launch) - len(state) - 1
        return launch + text.shorten(text.kernel_name(kernel), max(room, 8)) + state

    def _draw(self, line: str, now: float) -> None:
        self._stream.write(ERASE + line[: self._width - 1])
        self._stream.flush()
        self._drawn_at, self._visible = now, True

    def _erase(self) -> None:
        if self._visible:
            self._stream.write(ERASE)
            self._stream.flush()
            self._visible = False


def duration(seconds: float) -> str:
    """12 s, 3 min 20 s, 2 h 5 min."""
    whole = max(round(seconds), 1)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


@contextmanager
def status_line(stream: TextIO, *, width: int = 80) -> Iterator[Callable[[str], None]]:
    """What to call with what is being done, in a few words: shown on a terminal, in one line that is erased at the end.
    May be called from any thread."""
    shown = stream.isatty()
    lock = threading.Lock()

    def tell(words: str) -> None:
        if shown:
            with lock:
                stream.write(ERASE + words[: width - 1])
                stream.flush()

    try:
        yield tell
    finally:
        if shown:
            stream.write(ERASE)
            stream.flush()
