"""Requests as the machine makes them: where it joins accesses of PTX into a wider one, samples are widened alike."""

from __future__ import annotations

from dataclasses import replace

from lanewise.records import LaneSample, LaunchRecord


def as_executed(sample: LaneSample, launch: LaunchRecord) -> LaneSample:
    """The sample at the width of the machine instruction that carries it, whose addresses are multiples of its width;
    itself where the machine code is not known, or several instructions of other widths do its work."""
    widths = {
        access.width_bits
        for access in launch.accesses
        if access.basis == "sass"
        and (access.ptx_line, access.space, access.kind) == (sample.ptx_line, sample.space, sample.kind)
    }
    width = widths.pop() if len(widths) == 1 else 0
    if width <= sample.width_bits or width % 8:
        return sample
    size = width // 8
    base = sample.base // size * size
    lanes = tuple(None if at is None else (sample.base + at) // size * size - base for at in sample.lanes)
    return replace(sample, width_bits=width, base=base, lanes=lanes)
