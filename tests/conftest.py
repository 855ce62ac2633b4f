"""Property tests give the same verdict each time, on a busy machine too. LANEWISE_EXPLORE=1 looks for new examples.

What is built lies in the user's cache, so that a test that is run again is quick. The processes of one run (`-n`) share
a cache of that run, as do the rooms whose tests are about building: there nothing was built before.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, settings

from lanewise.cli.main import main
from lanewise.errors import EnvironmentProblem
from lanewise.sass import listing

settings.register_profile("same", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("explore" if os.environ.get("LANEWISE_EXPLORE") else "same")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):  # which workers inherit
        directory = tempfile.mkdtemp(prefix="lanewise-tests-")
        os.environ["LANEWISE_CACHE_DIR"] = directory
        config.add_cleanup(lambda: shutil.rmtree(directory, ignore_errors=True))


@pytest.fixture(scope="session")
def fresh_builds(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Path]:
    """The cache of this run."""
    if hasattr(request.config, "workerinput"):
        yield Path(os.environ["LANEWISE_CACHE_DIR"])
        return
    directory = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LANEWISE_CACHE_DIR", str(directory))
        yield directory


def _none(cubin: bytes) -> NoReturn:
    raise EnvironmentProblem("machine code is not listed here")


@pytest.fixture
def ptx_alone() -> Callable[[], AbstractContextManager[None]]:
    """While it lasts programs are loaded without a listing of their machine code, which takes half a second each: for
    tests of what is computed, not of what is counted."""

    @contextmanager
    def unlisted() -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(listing, "listing", _none)
            yield

    return unlisted


@pytest.fixture
def lanewise_command(capfd: pytest.CaptureFixture[str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs `lanewise WORDS`, programs and all; in this process, since a new one takes half a second to start."""

    def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
        arguments = [str(word) for word in words]
        status = main(arguments)
        return subprocess.CompletedProcess(arguments, status, *capfd.readouterr())

    return run
