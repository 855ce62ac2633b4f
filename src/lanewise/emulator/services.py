"""What kernels ask the host for: printf, malloc, free, assert. Text is kept by block, so that its order does not depend
on which host thread ran which block."""

from __future__ import annotations

import ctypes
import re
import struct
from dataclasses import dataclass, field

from lanewise.emulator.launch import FaultReport, Fields, ServiceFault, WorkerMemory
from lanewise.emulator.layout import LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES, Block, Service, Warp, Worker
from lanewise.emulator.memory import DeviceMemory, OutOfDeviceMemory

_CONVERSION = re.compile(rb"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+))?(hh|h|ll|l|j|z|t|L)?([diouxXeEfFgGaAcsp%n])")
MAX_TEXT = 1 << 20  # bytes of one string argument
MAX_FIELD = 1 << 16  # width and precision of one conversion


@dataclass(slots=True)
class HostServices:
    """Answers the requests of one launch."""

    memory: DeviceMemory
    texts: dict[int, list[bytes]] = field(default_factory=dict)  # by block, in the order of printing
    local_bytes: int = 0  # of one thread, and shared ones of a block, of the worker that asks
    shared_bytes: int = 0

    def output(self) -> bytes:
        """All that was printed, blocks in launch order."""
        return b"".join(text for block in sorted(self.texts) for text in self.texts[block])

    def __call__(self, worker: WorkerMemory, code: int) -> None:
        warp, block = worker.current()
        self.local_bytes, self.shared_bytes = worker.local_size // 32, worker.shared_size
        mask = worker.fields.get(Worker.SERVICE_MASK)
        for lane in range(32):
            if mask >> lane & 1:
                self._serve(worker, warp, block, lane, code)

    def _serve(self, worker: WorkerMemory, warp: Fields, block: Fields, lane: int, code: int) -> None:
        def argument(number: int) -> int:
            place = worker.fields.get(Worker.SERVICE_ARGUMENTS + 8 * number)
            return int.from_bytes(_local(warp, lane, place, 8), "little")

        result: int | None = None
        if code == Service.PRINTF:
            text = self.string(argument(0), warp, block, lane)
            arguments = _Arguments(self, argument(1), warp, block, lane)
            printed = format_text(text, arguments)
            self.texts.setdefault(block.get(Block.LINEAR), []).append(printed)
            result = arguments.taken
        elif code == Service.MALLOC:
            try:
                result = self.memory.allocate(max(1, argument(0)), alignment=16, kind="device-malloc").base
            except OutOfDeviceMemory:
                result = 0
        elif code == Service.FREE:
            address = argument(0)
            allocation = self.memory.find(address) if address else None
            if allocation is not None and allocation.base == address and allocation.kind == "device-malloc":
                self.memory.free(address)
        elif code == Service.ASSERT:
            raise ServiceFault(self._assertion(worker, warp, block, lane, argument))
        place = worker.fields.get(Worker.SERVICE_RESULT)
        if result is not None and place >= 0:
            size = 8 if code == Service.MALLOC else 4
            _write_local(warp, lane, place, result.to_bytes(size, "little"))

    def _assertion(self, worker: WorkerMemory, warp: Fields, block: Fields, lane: int, argument: object) -> FaultReport:
        assert callable(argument)
        condition = self.string(argument(0), warp, block, lane).decode(errors="replace")
        file = self.string(argument(1), warp, block, lane).decode(errors="replace")
        line = argument(2) & 0xFFFFFFFF
        function = self.string(argument(3), warp, block, lane).decode(errors="replace")
        return FaultReport(
            4, worker.fields.get(Worker.FAULT_SITE), 1 << lane, (), 0,
            (warp.get32(Warp.CTAID_X), warp.get32(Warp.CTAID_Y), warp.get32(Warp.CTAID_Z)), warp.get32(Warp.INDEX),
            message=f"{file}:{line}: {function}: assertion `{condition}` failed",
        )  # fmt: skip

    def read(self, address: int, size: int, warp: Fields, block: Fields, lane: int) -> bytes:
        """Bytes at a generic address as a lane sees them; zeros where there is nothing."""
        if 0 <= address - LOCAL_WINDOW < WINDOW_BYTES:
            fits = address - LOCAL_WINDOW + size <= self.local_bytes
            return _local(warp, lane, address - LOCAL_WINDOW, size) if fits else bytes(size)
        if 0 <= address - SHARED_WINDOW < WINDOW_BYTES:
            fits = address - SHARED_WINDOW + size <= self.shared_bytes
            return ctypes.string_at(block.get(Block.SHARED) + address - SHARED_WINDOW, size) if fits else bytes(size)
        allocation = self.memory.find(address)
        if allocation is None or address + size > allocation.end:
            return bytes(size)
        return self.memory.read(address, size)

    def string(self, address: int, warp: Fields, block: Fields, lane: int) -> bytes:
        """A zero-terminated string at a generic address."""
        allocation = self.memory.find(address)
        if allocation is not None:
            size = min(allocation.end - address, MAX_TEXT)
            return self.memory.read(address, size).split(b"\0", 1)[0]
        if 0 <= address - LOCAL_WINDOW < WINDOW_BYTES or 0 <= address - SHARED_WINDOW < WINDOW_BYTES:
            result = b""
            while len(result) < 4096 and (letter := self.read(address + len(result), 1, warp, block, lane)) != b"\0":
                result += letter
            return result
        return b"(null)"


def _local(warp: Fields, lane: int, offset: int, size: int) -> bytes:
    base = warp.get(Warp.LOCAL)
    result = b""
    while len(result) < size:
        at = offset + len(result)
        step = min(size - len(result), 16 - (at & 15))
        result += ctypes.string_at(base + (at >> 4) * 512 + lane * 16 + (at & 15), step)
    return result


def _write_local(warp: Fields, lane: int, offset: int, data: bytes) -> None:
    ctypes.memmove(warp.get(Warp.LOCAL) + (offset >> 4) * 512 + lane * 16 + (offset & 15), data, len(data))


class _Arguments:
    """The argument buffer of one printf: values at their natural alignment."""

    def __init__(self, services: HostServices, address: int, warp: Fields, block: Fields, lane: int) -> None:
        self.services, self.address = services, address
        self.where = (warp, block, lane)
        self.offset = 0
        self.taken = 0

    def take(self, size: int) -> bytes:
        self.offset = -(-self.offset // size) * size
        data = self.services.read(self.address + self.offset, size, *self.where)
        self.offset += size
        self.taken += 1
        return data

    def integer(self, size: int, *, signed: bool) -> int:
        return int.from_bytes(self.take(size), "little", signed=signed)

    def text(self) -> bytes:
        return self.services.string(self.integer(8, signed=False), *self.where)


def format_text(text: bytes, arguments: _Arguments) -> bytes:
    """C's printf, as the device's documentation limits it (CUDA C++ programming guide, formatted output)."""

    def convert(match: re.Match[bytes]) -> bytes:
        flags, width, precision, length, letter = match.groups()
        if letter == b"%":
            return b"%"
        if width == b"*":
            width = str(arguments.integer(4, signed=True)).encode()
        if precision == b"*":
            precision = str(max(0, arguments.integer(4, signed=True))).encode()
        width, precision = (_bounded(number) for number in (width, precision))
        spec = b"%" + flags + (width or b"") + (b"." + precision if precision is not None else b"")
        size = 8 if length in (b"l", b"ll", b"j", b"z", b"t") else 4
        if letter in b"di":
            number = arguments.integer(size, signed=True)
            return (spec + b"d") % _cut(number, length, signed=True)
        if letter in b"ouxX":
            number = _cut(arguments.integer(size, signed=False), length, signed=False)
            if letter == b"o" and b"#" in flags:  # a leading zero, as one more digit of precision
                digits = max(int(precision or 0), len(b"%o" % number) + (number != 0))
                spec = b"%" + flags.replace(b"#", b"") + (width or b"") + b".%d" % digits
            return (spec + (b"d" if letter == b"u" else letter)) % number
        if letter in b"eEfFgG":
            real: float = struct.unpack("<d", arguments.take(8))[0]
            return (spec + letter) % real
        if letter in b"aA":
            return float.hex(struct.unpack("<d", arguments.take(8))[0]).encode()
        if letter == b"c":
            return (spec + b"c") % (arguments.integer(4, signed=False) & 0xFF)
        if letter == b"s":
            return (spec + b"s") % arguments.text()
        if letter == b"p":
            address = arguments.integer(8, signed=False)
            return (b"%" + flags + (width or b"") + b"s") % (b"(nil)" if address == 0 else hex(address).encode())
        return b""

    return _CONVERSION.sub(convert, text)


def _bounded(number: bytes | None) -> bytes | None:
    """A width or precision, held to what a line of text may need."""
    return number if number is None else b"%d" % max(-MAX_FIELD, min(MAX_FIELD, int(number)))


def _cut(number: int, length: bytes | None, *, signed: bool) -> int:
    bits = {b"hh": 8, b"h": 16}.get(length or b"", 64)
    number &= (1 << bits) - 1 if bits < 64 or not signed else -1
    return number - (1 << bits) if signed and bits < 64 and number >> (bits - 1) else number
