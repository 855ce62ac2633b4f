"""What went wrong at an mbarrier, in words, with the rule and the section of the PTX ISA that states it."""

from __future__ import annotations

from lanewise.emulator.launch import PhaseWait
from lanewise.emulator.layout import MbarrierFault
from lanewise.emulator.mbarriers import MAX_COUNT, unpack

_INIT = (
    "make it with mbarrier.init (or init() of a cuda::barrier), and let all threads pass a barrier after that "
    "(PTX ISA 9.7.13.15.9)"
)
_EXPECT = (
    "expect as many bytes as the copies move: expect_tx and the sizes of the copies must agree (PTX ISA 9.7.13.15.7)"
)

# By kind: what is wrong, what to do. "{}" is where the object lies.
_WORDS = {
    MbarrierFault.OUTSIDE: (
        "the mbarrier at {} is not in the block's shared memory",
        "an mbarrier lies in shared memory (PTX ISA 9.7.13.15.2)",
    ),
    MbarrierFault.MISALIGNED: (
        "the mbarrier at {} is misaligned",
        "the address of an mbarrier is a multiple of 8 (PTX ISA 9.7.13.15.2)",
    ),
    MbarrierFault.INVALID: ("there is no mbarrier at {}: it was not initialised, or invalidated", _INIT),
    MbarrierFault.COUNT: (
        "a count of arrivals out of range at the mbarrier at {}",
        f"counts are 1 to {MAX_COUNT:,} (PTX ISA 9.7.13.15.3)",
    ),
    MbarrierFault.ARRIVALS: (
        "more arrivals at the mbarrier at {} than its phase still lacks",
        "the count given to init() is that of all arrivals of a phase; wait for a phase before arriving for the next "
        "(PTX ISA 9.7.13.15.8)",
    ),
    MbarrierFault.BYTES: (
        "the bytes that the mbarrier at {} expects are out of range",
        f"between -{MAX_COUNT:,} and {MAX_COUNT:,} bytes may be under way at once (PTX ISA 9.7.13.15.3)",
    ),
    MbarrierFault.NO_COMPLETE: (
        "an arrival with .noComplete ends the phase of the mbarrier at {}",
        "the last arrival of a phase is one without .noComplete (PTX ISA 9.7.13.15.13)",
    ),
}


def words(kind: int, offset: int) -> tuple[str, str, tuple[str, ...], str | None]:
    """(check, message, evidence, next step) of a fault at an object at an offset of shared memory."""
    message, next_step = _WORDS[kind]
    if offset >> 63:
        offset -= 1 << 64
    return "mbarrier", message.format(f"byte {offset} of shared memory"), (), next_step


def missing(word: int) -> tuple[str, str]:
    """What a phase lacks, and what to do about it."""
    pending, each, bytes_, _ = unpack(word)
    if pending == 0 and bytes_ > 0:
        return (
            f"{bytes_:,} of the bytes that it expects never come",
            _EXPECT,
        )
    if pending == 0:
        return (
            f"{-bytes_:,} bytes more have come than it was told to expect",
            _EXPECT,
        )
    return (
        f"{pending:,} of its {each:,} arrivals never come",
        "let as many threads arrive in each phase as init() was told, and wait for the parity of the phase at hand "
        "(PTX ISA 9.7.13.15.7)",
    )


def waits_for(phase: PhaseWait) -> str:
    """Where a warp waits, and what the object lacks."""
    pending, each, bytes_, _ = unpack(phase.word)
    return (
        f"at the mbarrier at byte {phase.offset} of shared memory for the end of a phase of parity {phase.parity} "
        f"(arrivals missing: {pending:,} of {each:,}, bytes missing: {bytes_:,})"
    )
