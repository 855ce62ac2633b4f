"""Runs a host program whose CUDA calls are answered by a backend in this process."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from lanewise.cudart import library
from lanewise.cudart.backend import Backend
from lanewise.cudart.server import Server
from lanewise.emulator.memory import DeviceMemory
from lanewise.errors import UsageError
from lanewise.records import Allocation, Finding
from lanewise.toolchain import elf

_PATIENCE = 1.0  # seconds that processes the program left behind get to end by themselves
_GRACE = 3.0  # seconds between the ways to end a program after Ctrl-C
_SHELL_SIGNAL_BASE = 128


@dataclass(frozen=True, slots=True)
class HostResult:
    """How a program ended.

    `exit_code` as a shell gives it: the program's own, or 128 + `signal`. `connected`: our runtime library was loaded
    and spoke to us. `unsupported_calls` are runtime functions the program called that this version does not have.
    `findings`: host code that touched device memory. `errors`: exceptions raised while requests were answered (each
    also gave the program a CUDA error); those that are no LanewiseError are mistakes of ours. `interrupted`: Ctrl-C.
    `leaks`: what was allocated and not freed when the program ended.
    """

    exit_code: int
    signal: int | None
    connected: bool
    unsupported_calls: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    errors: tuple[Exception, ...] = ()
    interrupted: bool = False
    leaks: tuple[Allocation, ...] = ()


def run_program(
    executable: Path,
    arguments: Sequence[str] = (),
    *,
    memory: DeviceMemory,
    backend: Backend,
    env: Mapping[str, str] | None = None,
    stdin: int | IO[bytes] | None = None,
    stdout: int | IO[bytes] | None = None,
    stderr: int | IO[bytes] | None = None,
) -> HostResult:
    """Run a program to its end; its input and output are this process's unless given.

    `env` is the whole environment (default: this process's).

    UsageError where the file cannot be executed; EnvironmentProblem where our library cannot be built.
    """
    directory = library.library_directory()
    with Server(backend, memory) as server:
        environment = dict(os.environ if env is None else env)
        _prepend(environment, "LD_LIBRARY_PATH", str(directory))
        if _has_rpath(executable):
            _prepend(environment, "LD_PRELOAD", str(directory / library.SONAME))
        environment["LANEWISE_SOCKET"] = str(server.path)
        interrupted = False
        with _ctrl_c_later() as check_ctrl_c:
            process = _start([str(executable), *arguments], environment, stdin, stdout, stderr)
        try:
            check_ctrl_c()
            status = process.wait()
        except KeyboardInterrupt:
            interrupted = True
            if not _has_terminal():  # a terminal has sent it to the program too
                process.send_signal(signal.SIGINT)
            backend.interrupt()
            status = _end(process)
        except BaseException:
            process.kill()
            process.wait()
            raise
        server.drain(0 if interrupted else _PATIENCE)
        shared = server.shared
        return HostResult(
            exit_code=status if status >= 0 else _SHELL_SIGNAL_BASE - status,
            signal=-status if status < 0 else None,
            connected=bool(server.pids),
            unsupported_calls=tuple(shared.unsupported_calls),
            findings=tuple(shared.findings),
            errors=tuple(shared.errors),
            interrupted=interrupted,
            leaks=tuple(shared.leaks),
        )


@contextlib.contextmanager
def _ctrl_c_later() -> Iterator[Callable[[], None]]:
    """Ctrl-C within the block waits for a call of what is yielded: a program must not be started and lost."""
    came: list[int] = []

    def check() -> None:
        if came:
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # only that one gets it
        yield check
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.default_int_handler)


def _start(
    command: list[str],
    environment: dict[str, str],
    stdin: int | IO[bytes] | None,
    stdout: int | IO[bytes] | None,
    stderr: int | IO[bytes] | None,
) -> subprocess.Popen[bytes]:
    path = Path(command[0])
    try:
        # A bare name would be looked for on PATH; it is the file in this directory that is meant.
        return subprocess.Popen(command, executable=path.absolute(), env=environment, stdin=stdin, stdout=stdout,
                                stderr=stderr)  # fmt: skip
    except OSError as error:
        step = {FileNotFoundError: "check the path", PermissionError: "make it executable: chmod +x"}
        raise UsageError(
            f"{path} cannot be executed: {error.strerror}", next_step=step.get(type(error), "is it a program?")
        ) from error


def _end(process: subprocess.Popen[bytes]) -> int:
    """After Ctrl-C: wait, then ask, then insist."""
    for way in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            return process.wait(_GRACE)
        process.send_signal(way)
    return process.wait()


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


def _has_rpath(executable: Path) -> bool:
    """Whether a DT_RPATH (not the newer DT_RUNPATH) comes before LD_LIBRARY_PATH and may name another libcudart.

    Our library is then preloaded. Not always: sanitizers want to be first.
    """
    try:
        with open(executable, "rb") as file:
            program = elf.Elf(file.read())
        return bool(program.dynamic_strings(elf.DT_RPATH)) and not program.dynamic_strings(elf.DT_RUNPATH)
    except (OSError, elf.NotElf):
        return False


def _prepend(environment: dict[str, str], name: str, value: str) -> None:
    rest = environment.get(name)
    environment[name] = f"{value}:{rest}" if rest else value
