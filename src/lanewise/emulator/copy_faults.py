"""What is wrong with an asynchronous copy, in words, with the section of the PTX ISA that states the rule."""

from __future__ import annotations

from lanewise.emulator.layout import CopyFault, Fault

_BULK = "(PTX ISA 9.7.9.25.4.1)"

# By kind: what is wrong, what to do. "{number}" is what it is about, "{bytes}" the size of a bulk copy.
_WORDS = {
    CopyFault.SOURCE_SIZE: (
        "an asynchronous copy reads {number} bytes, more than it writes",
        "the size of the source is at most that of the copy (PTX ISA 9.7.9.25.3.1)",
    ),
    CopyFault.BULK_SIZE: (
        "a bulk copy of {number:,} bytes, which is not a multiple of 16",
        f"the size of a bulk copy is a multiple of 16 bytes {_BULK}",
    ),
    CopyFault.BULK_GLOBAL_ALIGNMENT: (
        "misaligned bulk copy: the address in global memory, {number:#x}, is not a multiple of 16",
        f"both addresses of a bulk copy are multiples of 16 {_BULK}",
    ),
    CopyFault.BULK_SHARED_ALIGNMENT: (
        "misaligned bulk copy: the address in shared memory, byte {number:,}, is not a multiple of 16",
        f"both addresses of a bulk copy are multiples of 16 {_BULK}",
    ),
    CopyFault.BULK_SHARED_BOUNDS: (
        "out-of-bounds bulk copy of {bytes:,} bytes in shared memory, from byte {number:,} on",
        "check the size of the shared memory that the launch asks for",
    ),
    CopyFault.BULK_RANK: (
        "a bulk copy to the block of rank {number}, which the cluster does not have",
        "ranks go from 0 to the blocks of a cluster less 1 (PTX ISA 9.7.9.23)",
    ),
    CopyFault.BULK_EXITED: (
        "a bulk copy to the shared memory of the block of rank {number}, which has ended",
        "let the blocks of a cluster wait for each other (cluster.sync()) after the last such copy",
    ),
}
_CHECKS = {
    CopyFault.BULK_GLOBAL_ALIGNMENT: "misaligned",
    CopyFault.BULK_SHARED_ALIGNMENT: "misaligned",
    CopyFault.BULK_SHARED_BOUNDS: "bounds",
}


def length(size: int) -> int:
    """Bytes of the whole copy, where the fault is that global memory ends before."""
    return size >> 8


def beyond_global(size: int) -> str | None:
    """What was copied where the fault is that global memory ends before; None for every other fault."""
    return f"bulk copy of {length(size):,} bytes" if size & 0xFF == CopyFault.BULK_GLOBAL_BOUNDS else None


def plain_code(size: int) -> int:
    """The code of an ordinary access with the same fault, as an H200 tells of it."""
    kind = size & 0xFF
    if kind in (CopyFault.BULK_GLOBAL_ALIGNMENT, CopyFault.BULK_SHARED_ALIGNMENT):
        return Fault.MISALIGNED
    return Fault.BOUNDS if kind == CopyFault.BULK_GLOBAL_BOUNDS else Fault.COPY


def words(size: int, number: int) -> tuple[str, str, tuple[str, ...], str | None]:
    """(check, message, evidence, next step) of a fault; `size` stands in the place of the bytes."""
    kind = size & 0xFF
    message, next_step = _WORDS[kind]
    return _CHECKS.get(kind, "copy"), message.format(number=number, bytes=size >> 8), (), next_step
