"""What a launch was given and how much it ran, in sentences."""

from __future__ import annotations

from lanewise.records import LaunchRecord
from lanewise.report import text
from lanewise.report.fold import Fold


def shape(launch: LaunchRecord) -> str:
    """As in the source: <<<(16,16), 256>>>."""
    shared = f", {launch.dynamic_shared_bytes}" if launch.dynamic_shared_bytes else ""
    words = f"<<<{text.dims(launch.grid)}, {text.dims(launch.block)}{shared}>>>"
    return words if launch.cluster is None else f"{words}  clusters of {text.dims(launch.cluster)}"


def resources(launch: LaunchRecord) -> str:
    """What a thread and a block are given."""
    given, dynamic = launch.resources, launch.dynamic_shared_bytes
    if given is None:
        return "registers and shared memory unknown: no ptxas on this machine"
    static = given.static_shared_bytes
    parts = [text.plural(given.registers, "register")]
    parts.append(f"{text.size(static + dynamic)} shared memory")
    if static and dynamic:
        parts[-1] += f" ({text.size(static)} static + {text.size(dynamic)} dynamic)"
    if given.local_bytes:
        parts.append(f"{text.size(given.local_bytes)} local memory a thread")
    if given.spill_store_bytes or given.spill_load_bytes:
        stored, loaded = text.size(given.spill_store_bytes), text.size(given.spill_load_bytes)
        parts.append(f"spills {stored} stored and {loaded} loaded")
    return ", ".join(parts)


def occupancy(launch: LaunchRecord) -> str:
    """Warps on an SM, and what limits them; empty where that is not known."""
    known = launch.occupancy
    if known is None:
        return ""
    share = text.percent(known.active_warps, known.max_warps)
    blocks = text.plural(known.active_blocks, "block")
    limit = f", limited by {' and '.join(known.binding)}" if known.binding else ""
    return f"occupancy {share}: {known.active_warps} of {known.max_warps} warps in {blocks} an SM{limit}"


def executions(fold: Fold) -> str:
    """Instructions by warps and by threads: of the machine code where it is known."""
    if not fold.ptx_instructions:
        return ""
    if fold.instructions and fold.thread_instructions is not None:
        lanes = text.per(fold.thread_instructions, fold.instructions)
        warps, threads = text.count(fold.instructions), text.count(fold.thread_instructions)
        return f"instructions: {warps} by warps, {threads} by threads ({lanes} of 32 lanes)"
    lanes = text.per(fold.ptx_thread_instructions, fold.ptx_instructions)
    warps, threads = text.count(fold.ptx_instructions), text.count(fold.ptx_thread_instructions)
    return f"PTX instructions: {warps} by warps, {threads} by threads ({lanes} of 32 lanes)"
