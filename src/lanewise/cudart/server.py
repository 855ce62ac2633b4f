"""The socket that programs connect to: one thread for each of their processes."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType

from lanewise.cudart.backend import Backend
from lanewise.cudart.host_memory import available_bytes
from lanewise.cudart.protocol import LARGEST, REPLY, REQUEST, Op, receive
from lanewise.cudart.session import Session, Shared
from lanewise.emulator.memory import DeviceMemory
from lanewise.errors import EnvironmentProblem

_LONGEST_PATH = 100  # sockaddr_un holds 108 bytes


class Server:
    """Listens while its `with` block runs. `path` is what the library finds in LANEWISE_SOCKET."""

    def __init__(self, backend: Backend, memory: DeviceMemory) -> None:
        if memory.fd is None:
            raise EnvironmentProblem(
                "device memory cannot be shared with another process here, and whole programs need that",
                next_step="run on Linux, with at least 2^47 bytes of addresses free (no ulimit -v)",
            )
        self.shared = Shared(backend, memory, available_bytes())
        memory.describe = self.shared.call_sites.describe
        self._sessions: list[tuple[Session, socket.socket, threading.Thread]] = []
        self._directory = Path(_private_directory())
        self.path = self._directory / "socket"
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(self.path))
        self._listener.listen(64)
        self._acceptor = threading.Thread(target=self._accept, name="cudart-accept", daemon=True)

    def __enter__(self) -> Server:
        self._acceptor.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._acceptor.join(5)
        self.drain(0)
        shutil.rmtree(self._directory, ignore_errors=True)

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes that said hello."""
        return tuple(session.pid for session, _, _ in self._sessions if session.pid is not None)

    def drain(self, patience: float) -> None:
        """Wait for the processes' connections to end, `patience` seconds at most; then cut them, and their launches."""
        until = time.monotonic() + patience
        for _, _, thread in list(self._sessions):
            thread.join(max(0.0, until - time.monotonic()))
        for _, connection, thread in list(self._sessions):
            if thread.is_alive():
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        for _, _, thread in list(self._sessions):
            while thread.is_alive():
                self.shared.backend.interrupt()
                thread.join(0.2)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            session = Session(self.shared)
            thread = threading.Thread(target=self._serve, args=(session, connection), name="cudart", daemon=True)
            self._sessions.append((session, connection, thread))
            thread.start()

    def _serve(self, session: Session, connection: socket.socket) -> None:
        fd = self.shared.memory.fd
        assert fd is not None
        try:
            with connection:
                # The arena comes first; its one byte of company is what makes the kernel carry it.
                socket.send_fds(connection, [b"A"], [fd])
                while (header := receive(connection, REQUEST.size)) is not None:
                    operation, host_thread, size = REQUEST.unpack(header)
                    payload = receive(connection, size) if size <= LARGEST else None
                    if payload is None:
                        return
                    reply = session.answer(operation, host_thread, payload)
                    answer = REPLY.pack(reply.error, reply.fault, reply.elapsed_ns, len(reply.payload))
                    connection.sendall(answer + reply.payload)
                    if operation == Op.HELLO and reply.error:
                        return
        except OSError:
            return  # the process is gone
        finally:
            session.close()


def _private_directory() -> str:
    """A new directory that only this user can enter, with a path short enough for a socket in it."""
    try:
        made = tempfile.mkdtemp(prefix="lanewise-")
        if len(made) <= _LONGEST_PATH - len("/socket"):
            return made
        os.rmdir(made)
        return tempfile.mkdtemp(prefix="lanewise-", dir="/tmp")
    except OSError as error:
        raise EnvironmentProblem(
            f"no temporary directory can be made ({error.strerror})", next_step="free some space, or set TMPDIR"
        ) from error
