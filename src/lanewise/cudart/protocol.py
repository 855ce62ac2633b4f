"""What the runtime library in the program and the emulator's process say to each other.

A request is three u64 (operation, host thread, payload bytes) and the payload; a reply four (error, fault, elapsed
nanoseconds of device time, payload bytes) and the payload. Payloads are fields one after another: u64, or bytes with
their length in front. The C side gets its operation numbers from here (`c_header`).
"""

from __future__ import annotations

import socket
import struct
from enum import IntEnum

VERSION = 1
REQUEST = struct.Struct("<3Q")
REPLY = struct.Struct("<4Q")
LARGEST = 1 << 32  # bytes of one payload; an image of device code is the largest thing sent
_U64 = struct.Struct("<Q")


class Op(IntEnum):
    """Operations; the fields of each are at the function of `Session` that answers it."""

    HELLO = 1
    ALLOCATE = 2
    FREE = 3
    FIND = 4
    MEMORY_INFO = 5
    LOAD = 6
    FUNCTION = 7
    SYMBOL = 8
    LAUNCH = 9
    OCCUPANCY = 10
    SET_MAX_DYNAMIC_SHARED = 11
    SET_LIMIT = 12
    RESET = 13
    TOUCH = 14
    UNSUPPORTED = 15
    REFUSED = 16
    COPIED = 17
    BAD_CALL = 18
    ORDER = 19
    ENCODE_TENSOR_MAP = 30
    MOVE_TENSOR_MAP = 31
    ALLOW_CLUSTERS = 32
    CLUSTERS = 33


class AllocationKind(IntEnum):
    """Kinds of allocations as the C side numbers them (lanewise.h)."""

    MALLOC = 0
    MANAGED = 1
    HOST = 2
    GLOBAL = 3
    DEVICE_MALLOC = 4
    ARRAY = 5
    TEXTURE = 6
    SURFACE = 7


class ProtocolError(Exception):
    """The other side said something that the protocol does not allow."""


def c_header() -> str:
    """The text of `operations.h`."""
    lines = [f"#define OP_{op.name} {op.value}u" for op in Op]
    return "\n".join([f"#define PROTOCOL_VERSION {VERSION}u", *lines]) + "\n"


class Fields:
    """Reads the fields of a payload in order. ProtocolError at its end."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload
        self._at = 0

    def u64(self) -> int:
        if self._at + 8 > len(self._payload):
            raise ProtocolError("a request ends early")
        (value,) = _U64.unpack_from(self._payload, self._at)
        self._at += 8
        return int(value)

    def i64(self) -> int:
        value = self.u64()
        return value - (1 << 64) if value >> 63 else value

    def blob(self) -> bytes:
        size = self.u64()
        if self._at + size > len(self._payload):
            raise ProtocolError("a request ends early")
        data = self._payload[self._at : self._at + size]
        self._at += size
        return data

    def rest(self) -> bytes:
        """What is left, taken as it is."""
        at, self._at = self._at, len(self._payload)
        return self._payload[at:]

    def text(self) -> str:
        return self.blob().decode("utf-8", "replace")


def encode(*fields: int | bytes | str) -> bytes:
    """A payload of these fields: integers as u64, bytes and text with their length in front."""
    parts = []
    for field in fields:
        if isinstance(field, int):
            parts.append(_U64.pack(field & (1 << 64) - 1))
        else:
            data = field.encode() if isinstance(field, str) else field
            parts += [_U64.pack(len(data)), data]
    return b"".join(parts)


def receive(connection: socket.socket, size: int) -> bytes | None:
    """Exactly `size` bytes, or None where the other side has closed."""
    data = bytearray(size)
    view = memoryview(data)
    while view:
        try:
            got = connection.recv_into(view)
        except ConnectionError:
            return None
        if not got:
            return None
        view = view[got:]
    return bytes(data)
