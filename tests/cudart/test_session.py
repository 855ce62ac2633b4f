"""Requests as bytes: what is malformed gets an error, never an exception that ends the server."""

from __future__ import annotations

import pytest
from fake_backend import FakeBackend
from hypothesis import given, settings
from hypothesis import strategies as st

from lanewise.cudart.codes import CudaError, table
from lanewise.cudart.protocol import VERSION, Fields, Op, ProtocolError, encode
from lanewise.cudart.session import Session, Shared, error_of
from lanewise.emulator.memory import DeviceMemory
from lanewise.errors import KernelFault, LimitReached, PtxSyntaxError, UnsupportedCode, UsageError
from lanewise.records import Finding, Severity
from lanewise.toolchain.fatbin import BadFatbin


@pytest.fixture(scope="module")
def shared() -> Shared:
    memory = DeviceMemory(1 << 20)
    return Shared(FakeBackend(memory), memory)


def test_fields_come_back_in_order() -> None:
    fields = Fields(encode(7, b"abc", "naïve", -1, b""))
    assert (fields.u64(), fields.blob(), fields.text(), fields.i64(), fields.blob()) == (7, b"abc", "naïve", -1, b"")
    with pytest.raises(ProtocolError):
        fields.u64()


def test_allocations_are_the_sessions_own(shared: Shared) -> None:
    mine, other = Session(shared), Session(shared)
    reply = mine.answer(Op.ALLOCATE, 0, encode(100, 0, "", 0, 0))
    base = Fields(reply.payload).u64()
    assert other.answer(Op.FREE, 0, encode(base)).error is CudaError.INVALID_VALUE
    assert mine.answer(Op.FREE, 0, encode(base + 1)).error is CudaError.INVALID_VALUE
    assert mine.answer(Op.ALLOCATE, 0, encode(2 << 20, 0, "", 0, 0)).error is CudaError.MEMORY_ALLOCATION
    mine.close()
    assert shared.memory.find(base) is None


def test_another_protocol_is_refused(shared: Shared) -> None:
    assert Session(shared).answer(Op.HELLO, 0, encode(VERSION + 1, 1)).error is CudaError.UNKNOWN


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KernelFault(Finding("bounds", Severity.ERROR, "")), 700),
        (KernelFault(Finding("misaligned", Severity.ERROR, "")), 716),
        (KernelFault(Finding("assert", Severity.ERROR, "")), 710),
        (KernelFault(Finding("trap", Severity.ERROR, "")), 719),
        (KernelFault(Finding("barrier", Severity.ERROR, "")), 719),
        (LimitReached("too many instructions"), 702),
        (UnsupportedCode("textures", []), 801),
        (PtxSyntaxError("what?", 1, 1), 218),
        (BadFatbin("short"), 200),
        (UsageError("no PTX"), 209),
        (ZeroDivisionError(), 999),
    ],
)
def test_exceptions_become_cuda_errors(error: Exception, code: int) -> None:
    assert error_of(error) == code


def test_codes_agree_with_the_table() -> None:
    names = {code: name.removeprefix("cudaError").removeprefix("cuda").lower() for code, name, _ in table()}
    for error in CudaError:
        assert error.name.replace("_", "").lower().startswith(names[error].removesuffix("error"))
    assert len(names) == 133


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 20), st.one_of(st.binary(max_size=80), st.lists(st.integers(0, 9), max_size=20)))
def test_no_request_ends_the_server(operation: int, payload: bytes | list[int]) -> None:
    memory = DeviceMemory(1 << 16, arena_size=1 << 20)
    session = Session(Shared(FakeBackend(memory), memory))
    reply = session.answer(operation, 0, payload if isinstance(payload, bytes) else encode(*payload))
    assert isinstance(reply.error, CudaError)
    session.close()
    assert memory.allocations() == ()
