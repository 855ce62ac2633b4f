"""Device memory that the machine cannot back is refused before it kills anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_backend import FakeBackend

from lanewise.cudart.codes import CudaError
from lanewise.cudart.host_memory import available_bytes
from lanewise.cudart.protocol import Fields, Op, encode
from lanewise.cudart.session import Session, Shared
from lanewise.emulator.memory import DeviceMemory

MIB = 1 << 20


def _machine(root: Path, available_kib: int, limit: str | None = None, used: int = 0) -> Path:
    (root / "proc").mkdir()
    (root / "proc/meminfo").write_text(f"MemTotal: 99999999 kB\nMemAvailable: {available_kib} kB\n")
    if limit is not None:
        (root / "sys/fs/cgroup").mkdir(parents=True)
        (root / "sys/fs/cgroup/memory.max").write_text(limit + "\n")
        (root / "sys/fs/cgroup/memory.current").write_text(f"{used}\n")
    return root


@pytest.mark.parametrize(
    ("limit", "used", "expected"),
    [
        (None, 0, 1024 - 256),
        ("max", 0, 1024 - 256),
        (str(900 * MIB), 100 * MIB, 800 - 256),
        (str(300 * MIB), 100 * MIB, 0),
    ],
)
def test_the_tighter_limit_counts(tmp_path: Path, limit: str | None, used: int, expected: int) -> None:
    assert available_bytes(_machine(tmp_path, 1024 * 1024, limit, used)) == expected * MIB


def test_nothing_known(tmp_path: Path) -> None:
    assert available_bytes(tmp_path) is None


def test_a_session_refuses_what_does_not_fit() -> None:
    memory = DeviceMemory(64 * MIB)
    shared = Shared(FakeBackend(memory), memory, host_limit=10 * MIB)
    session = Session(shared)

    def allocate(size: int, kind: int) -> CudaError:
        return session.answer(Op.ALLOCATE, 0, encode(size, kind, "", 0, 0)).error

    assert allocate(6 * MIB, 1) is CudaError.SUCCESS
    free = Fields(session.answer(Op.MEMORY_INFO, 0, b"").payload).u64()
    assert free == 4 * MIB
    assert allocate(free + 1, 0) is CudaError.MEMORY_ALLOCATION
    assert allocate(free + 1, 2) is CudaError.MEMORY_ALLOCATION
    assert allocate(free, 0) is CudaError.SUCCESS
    assert shared.errors == []
    (finding,) = shared.findings
    assert finding.message == (
        "4,194,305 bytes of device memory were refused: 6,291,456 are allocated, and this machine has room for "
        "10,485,760"
    )
