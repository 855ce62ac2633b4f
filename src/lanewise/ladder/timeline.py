"""When all that a rung's host issues is done: its launches, and its copies in pieces on several streams.

As the emulated runtime has it (docs/runtime.md, `cudart/client/clock.c`): kernels follow each other, one copy in each
direction runs beside them, and work begins when its stream and its engine are both free.
"""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.ladder.plan import Plan, PlannedBuffer

COPY_US = 1.0  # before the first byte of a copy between host and device
LAUNCH_US = 3.7  # from one launch to the next that a program's thread issues: measured beside an H200


def finished(plan: Plan, kernels: Sequence[float], host_gb_s: float) -> float:
    """Microseconds until the last of a plan's launches and copies is over. `kernels`: of each launch, in order;
    `host_gb_s`: of copies in each direction.

    In a paced plan the host issues launches one by one while the device runs them (a graph: all at once); in others
    they count as issued beforehand.
    """
    if plan.pieces:
        return _pieces(plan, kernels, host_gb_s)
    end = 0.0
    for number, time in enumerate(kernels):
        issued = number * LAUNCH_US if plan.paced and not plan.rung.graph else 0.0
        end = max(end, issued) + time
    return end


def _pieces(plan: Plan, kernels: Sequence[float], host_gb_s: float) -> float:
    streams = [0.0] * plan.streams
    arrived = kernel = left = 0.0  # when the engines are free: copies in, kernels, copies out
    for piece in range(plan.pieces):
        stream = piece % plan.streams
        inputs, outputs = (_copy(plan, piece, role, host_gb_s) for role in ("input", "output"))
        now = arrived = max(streams[stream], arrived) + inputs
        for launch, time in zip(plan.launches, kernels, strict=True):
            if launch.piece == piece:
                now = kernel = max(now, kernel) + time
        streams[stream] = left = max(now, left) + outputs
    return max(streams)


def _copy(plan: Plan, piece: int, role: str, host_gb_s: float) -> float:
    parts = [_part(plan, buffer, piece) for buffer in plan.buffers if buffer.role == role]
    return sum(COPY_US + part / (1000 * host_gb_s) for part in parts if part)


def _part(plan: Plan, buffer: PlannedBuffer, piece: int) -> int:
    """Bytes of a piece of a buffer; the last piece may be shorter."""
    size = -(-buffer.count // plan.pieces)
    count = max(0, min(size, buffer.count - piece * size))
    return count * buffer.bytes // buffer.count if count else 0
