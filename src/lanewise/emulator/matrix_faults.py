"""What is wrong with a matrix descriptor of wgmma, in words, with the rule and the section of the PTX ISA."""

from __future__ import annotations

from lanewise.emulator.layout import MatrixFault


def words(kind: int, value: int) -> tuple[str, str, tuple[str, ...], str | None]:
    """(check, message, evidence, next step); `value` is the descriptor, or the end of what it reaches."""
    if kind == MatrixFault.OUTSIDE:
        return (
            "matrix",
            "a matrix descriptor reaches beyond the block's shared memory",
            (f"its last row ends at byte {value} of shared memory",),
            "check start address, strides and swizzle: they are in units of 16 bytes (PTX ISA 9.7.15.5.1.2)",
        )
    if kind == MatrixFault.RESERVED:
        return (
            "matrix",
            "bits of a matrix descriptor that stand for nothing are set",
            (f"descriptor {value:#018x}",),
            "addresses and offsets are cut to 18 bits and shifted right by 4 before they are joined "
            "(PTX ISA 9.7.15.5.1.2)",
        )
    return (
        "matrix",
        "the threads of a warp give different matrix descriptors",
        (f"descriptor {value:#018x} is not that of the first thread",),
        "a descriptor is the same in all threads of the warp (PTX ISA 9.7.15.5.2)",
    )
