"""The progress line, on a clock of its own."""

from __future__ import annotations

import io

from lanewise.cli.progress import ERASE, ProgressLine, duration


class Terminal:
    def __init__(self, width: int = 80) -> None:
        self.now = 100.0
        self.stream = io.StringIO()
        self.line = ProgressLine(self.stream, width=width, clock=lambda: self.now)

    def after(self, seconds: float, done: int, total: int, kernel: str = "gemm(float*)") -> str:
        """What is newly written by a call that comes `seconds` after the one before."""
        self.now += seconds
        written = self.stream.tell()
        self.line(done, total, kernel)
        return self.stream.getvalue()[written:]


def test_short_work_shows_nothing() -> None:
    terminal = Terminal()
    for done in range(10):
        assert terminal.after(0.1, done, 10) == ""


def test_long_work_shows_how_far_it_is_and_how_long_it_will_take() -> None:
    terminal = Terminal()
    terminal.after(0, 0, 4096)
    assert terminal.after(3, 1024, 4096) == ERASE + "gemm: 1,024 of 4,096 blocks (25%), about 9 s left"
    assert terminal.after(0.1, 1100, 4096) == ""  # not more often than four times a second
    assert terminal.after(1, 4096, 4096) == ERASE
    assert terminal.after(1, 4096, 4096) == ""


def test_later_launches_are_numbered_and_estimated_by_themselves() -> None:
    terminal = Terminal()
    for _ in range(3):
        terminal.after(0.5, 1, 2)
        terminal.after(0.5, 2, 2)
    terminal.after(0, 0, 100)
    assert terminal.after(2, 50, 100) == ERASE + "launch 4, gemm: 50 of 100 blocks (50%), about 2 s left"


def test_the_line_fits_the_terminal_and_cannot_steer_it() -> None:
    terminal = Terminal(width=60)
    terminal.after(0, 0, 100)
    line = terminal.after(3, 50, 100, "a\x1b[2J" + "very_long_kernel_name" * 9).removeprefix(ERASE)
    assert len(line) < 60
    assert "\x1b" not in line


def test_close_leaves_a_clean_line() -> None:
    terminal = Terminal()
    terminal.after(0, 0, 100)
    terminal.after(3, 50, 100)
    terminal.line.close()
    assert terminal.stream.getvalue().endswith(ERASE)


def test_durations() -> None:
    assert [duration(s) for s in (0.2, 59, 200, 7500)] == ["1 s", "59 s", "3 min 20 s", "2 h 5 min"]
