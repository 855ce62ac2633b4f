"""Global data that a block reads again and again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from lanewise.advice.groups import Group, groups
from lanewise.advice.rank import WORTH
from lanewise.advice.reuse import reuse, tiled, without
from lanewise.advice.rule import Rule, advice, say
from lanewise.advice.subject import Subject
from lanewise.hardware.coalescing import SECTOR_BYTES
from lanewise.hardware.occupancy import occupancy
from lanewise.model.placement import Placement
from lanewise.records import AccessKind, Finding, Pattern, Space, Tried

NAME = "re_read_data"
_OFTEN = 4  # times that a block asks for a sector
_TOGETHER = 0.5  # share of a block's lines that more than one of its warps reads
_NEAR = 1.5  # times the ideal sectors up to which lanes lie well


def find(subject: Subject) -> Iterable[Finding]:
    loads = [group for group in groups(subject, Space.GLOBAL) if _may(group)]
    if not loads or subject.time_us - without(subject, loads) < WORTH * subject.time_us:
        return
    found = [(group, reuse(subject, group)) for group in loads]
    found = [(group, again) for group, again in found if again.times >= _OFTEN]
    if not any(again.shared_lines >= _TOGETHER for _, again in found):
        return
    tile, placed = _placed(subject, [group for group, _ in found])
    if placed is None:
        return
    group, again = max(found, key=lambda item: item[1].asked)
    arrays = [g.array for g, _ in found if g.array is not None]
    times = f"{again.times:,.0f}"
    message = say("re_read_data.message", times=times)
    if group.array is not None:
        message = say("re_read_data.message_array", array=group.array, times=times)
    asked, once = (sum(getattr(r, name) for _, r in found) * SECTOR_BYTES for name in ("asked", "of_blocks"))
    others = [name for name in dict.fromkeys(arrays) if name != group.array]
    evidence = [say("re_read_data.others", arrays=", ".join(f"`{name}`" for name in others))] if others else []
    evidence.append(say("re_read_data.amount", asked=f"{asked:,}", once=f"{once:,}"))
    yield advice(
        NAME,
        subject.record,
        message=message,
        evidence=evidence,
        change=say("re_read_data.change"),
        next_step=say("re_read_data.tile"),
        price=say("re_read_data.price", bytes=f"{tile:,}"),
        after_us=subject.retime(tiled(subject, found, placed), placed),
        tried=Tried.ESTIMATED,
        rung="gemm tiled",
        source=group.source,
        ptx_line=group.ptx_line,
    )


def _may(group: Group) -> bool:
    """Loads whose lanes lie side by side, or all at one place: what lies otherwise has to be brought in order first."""
    if group.kind != AccessKind.LOAD or group.sectors > _NEAR * group.sectors_ideal:
        return False
    patterns = {cost.site.pattern for cost in group.costs if cost.site is not None}
    return Pattern.SCATTERED not in patterns


def _placed(subject: Subject, found: list[Group]) -> tuple[int, Placement | None]:
    """Bytes of a tile that has an element of each array for each thread, and where blocks go that hold it."""
    record, resources = subject.record, subject.record.resources
    x, y, z = record.block
    tile = sum(x * y * z * group.width_bytes for group in found)
    if resources is None:
        return tile, None
    fitting = occupancy(
        subject.spec,
        threads_per_block=x * y * z,
        registers_per_thread=resources.registers,
        static_shared=resources.static_shared_bytes + tile,
        dynamic_shared=record.dynamic_shared_bytes,
    )
    larger = replace(resources, static_shared_bytes=resources.static_shared_bytes + tile)
    return tile, Placement.of(subject.spec, replace(record, resources=larger, occupancy=fitting))


RULE = Rule(
    name=NAME,
    title="Data that is read again",
    what="The warps of a block read the same elements of global memory many times over.",
    why="Each read is a request to the L1, and where the L1 does not hold the data, traffic to the L2. Shared memory "
    "answers sooner, and what a block needs is fetched once.",
    before="for (int k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + column];",
    after="for (int t = 0; t < n; t += 32) {\n"
    "  a[threadIdx.y][threadIdx.x] = A[row * n + t + threadIdx.x];\n"
    "  b[threadIdx.y][threadIdx.x] = B[(t + threadIdx.y) * n + column];\n"
    "  __syncthreads();\n"
    "  for (int k = 0; k < 32; k++) sum += a[threadIdx.y][k] * b[k][threadIdx.x];\n"
    "  __syncthreads();\n"
    "}",
    rung="gemm tiled",
    find=find,
)
