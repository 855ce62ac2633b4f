"""A command line run in this process, with a stand-in for the run itself."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from lanewise.cli import run
from lanewise.cli.main import main
from lanewise.records import RunResult
from lanewise.request import RunRequest


@dataclass
class Outcome:
    status: int
    out: str
    err: str


@dataclass
class CommandLine:
    """Runs `lanewise ...`; `requests` are what reached the session, which answers `result` or raises `error`."""

    monkeypatch: pytest.MonkeyPatch
    capfd: pytest.CaptureFixture[str]
    result: RunResult = field(default_factory=lambda: RunResult("program.cu", "h200", "sm_90", 0, (), {}))
    error: BaseException | None = None
    requests: list[RunRequest] = field(default_factory=list)

    def __call__(self, *words: str) -> Outcome:
        def execute(request: RunRequest) -> RunResult:
            self.requests.append(request)
            if self.error is not None:
                raise self.error
            return self.result

        self.monkeypatch.setattr(run, "execute", execute)
        status = main(words)
        out, err = self.capfd.readouterr()
        return Outcome(status, out, err)
