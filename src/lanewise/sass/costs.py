"""What one launch cost by its machine code: executions of blocks, and the accesses of its memory instructions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from lanewise.emulator import counts
from lanewise.emulator.compile import KernelInfo
from lanewise.emulator.counts import Counters, SiteCounts
from lanewise.emulator.layout import (
    BLOCK_DIVERGENT,
    BLOCK_OCTETS,
    BLOCK_THREADS,
    BLOCK_WARPS,
    STAGE_ARRIVED,
    STAGE_GROUPS,
)
from lanewise.emulator.machine import EXCHANGES, CountRule, Recount
from lanewise.records import Space
from lanewise.sass import executions, graph, reconvergence
from lanewise.sass.blocks import MachineBlock
from lanewise.sass.executions import Executions, Line, LoopArrival
from lanewise.sass.kernel import MachineAccess, MachineKernel, copies_by_line
from lanewise.sass.unroll import Stage

_LOOPS = (*EXCHANGES, CountRule.SWAPS)
_SECTOR_LANES = 8  # lanes whose words of local memory share a sector


@dataclass(frozen=True, slots=True)
class AccessCost:
    """One machine instruction in one launch; `site` are the counts of the access of PTX it carries (None for spills).

    `sectors` are those of global or local memory, `wavefronts` those of shared memory; None where there are none.
    """

    access: MachineAccess
    site: SiteCounts | None
    space: Space
    requests: int
    threads: int
    threads_on: int
    sectors: int | None
    sectors_ideal: int | None
    wavefronts: int | None
    wavefronts_ideal: int | None


@dataclass(frozen=True, slots=True)
class MachineCosts:
    """A launch as the hardware is charged for it. `instructions` by warps, `thread_instructions` by active threads."""

    instructions: int
    thread_instructions: int
    blocks: tuple[Executions, ...]
    accesses: tuple[AccessCost, ...]


def machine_costs(kernel: MachineKernel, info: KernelInfo, counters: Counters, entry: tuple[int, int]) -> MachineCosts:
    """`entry` are the (warps, threads) that the launch starts; `info` is of the kernel compiled with `kernel.plan`."""
    key = (entry, counters.tobytes())
    if kernel.recent.get("key") != key:
        kernel.recent.update(key=key, costs=_machine_costs(kernel, info, counters, entry))
    costs: MachineCosts = kernel.recent["costs"]
    return costs


def _machine_costs(kernel: MachineKernel, info: KernelInfo, counters: Counters, entry: tuple[int, int]) -> MachineCosts:
    table = counts.block_counters(info, counters)
    lines = {
        (kernel.suffix(block.module), line): (int(row[BLOCK_WARPS]), int(row[BLOCK_THREADS]))
        for block, row in zip(info.blocks, table, strict=True)
        for line in block.ptx_lines
    }
    octets = {
        (kernel.suffix(block.module), line): int(row[BLOCK_OCTETS])
        for block, row in zip(info.blocks, table, strict=True)
        for line in block.ptx_lines
    }
    runs: dict[int, list[tuple[Stage, int]]] = {}  # of each unrolled loop: stages and the threads that ran them
    fixed: dict[int, tuple[int, int]] = {}
    rows = dict(info.trip_rows)
    arrivals: list[LoopArrival] = []
    left: dict[int, int] = {}  # groups that left the machine loop of a stage, by block
    for number, loop in enumerate(kernel.loops):
        first = rows[loop.plan]
        for k, stage in enumerate(loop.stages):
            row = table[first + k].tolist()
            runs.setdefault(number, []).append((stage, row[BLOCK_THREADS]))
            if not stage.guarded:
                fixed.update(dict.fromkeys(stage.blocks, (row[BLOCK_WARPS], row[BLOCK_THREADS])))
            if stage.head is not None:
                arrivals.append(LoopArrival(stage.head, stage.loop, row[STAGE_ARRIVED]))
                left.update((b.index, row[STAGE_GROUPS]) for b in kernel.blocks if stage.loop >> b.index & 1)
    sites = counts.site_counts(info, counters)
    rounds = {s.site.recount: s for s in sites if s.site.recount is not None and s.site.recount.rule in _LOOPS}
    swaps: dict[int, tuple[int, int]] = {}
    for access in kernel.accesses:
        found = rounds.get(access.recount) if access.recount is not None else None
        if found is None:
            continue
        if access.recount is not None and access.recount.rule == CountRule.EXCHANGE_SWAP:
            swaps[access.block] = (found.requests_on, found.threads_on)
        else:
            around = next((mask for mask, _ in kernel.shape.loops if mask >> access.block & 1), 1 << access.block)
            for block in graph.bits(around):
                fixed[block] = (found.requests_on, found.threads_on)
    fixed.update(swaps)  # fewer than loads, where a minimum or maximum changes nothing
    fixed.update(_ways_of_generics(kernel, sites))
    fixed.update(_conditional_copies(kernel, sites))
    solution = executions.solve(kernel.blocks, lines, entry, fixed, arrivals, kernel.shape, kernel.depths)
    solved = solution.blocks
    split = {
        (kernel.suffix(block.module), block.branch[1]): (row[BLOCK_WARPS], row[BLOCK_THREADS], row[BLOCK_DIVERGENT])
        for block, row in zip(info.blocks, table.tolist(), strict=True)
        if block.branch is not None
    }
    groups = reconvergence.groups_at_barriers(kernel.blocks, solution, split, left)
    ran = [(len(b.instructions), e) for b, e in zip(kernel.blocks, solved, strict=True)]
    return MachineCosts(
        sum(size * e.warps for size, e in ran) + sum(n - solved[index].warps for index, n in groups.items()),
        sum(size * e.threads for size, e in ran),
        solved,
        tuple(_accesses(kernel, solved, lines, octets, runs, sites)),
    )


def _conditional_copies(kernel: MachineKernel, sites: Sequence[SiteCounts]) -> dict[int, tuple[int, int]]:
    """By block, executions of what stands behind a branch in an unrolled body."""
    always = {block for loop in kernel.loops for stage in loop.stages for block in stage.blocks}
    staged = _staged(kernel, sites)
    return {
        access.block: (own.requests, own.threads)
        for access in kernel.accesses
        if access.line is not None
        and access.block not in always
        and access.instruction.predicate is None
        and (own := staged.get((access.line, access.copy))) is not None
    }


def _staged(kernel: MachineKernel, sites: Sequence[SiteCounts]) -> dict[tuple[Line, int | None], SiteCounts]:
    """What each copy of an access in an unrolled loop cost, where it was counted by itself: by line and copy."""
    found = {
        ((kernel.suffix(s.site.module), s.site.ptx_line), s.site.copy): s for s in sites if s.site.copy is not None
    }
    counted = {line for (line, _), s in found.items() if s.requests}
    return {key: s for key, s in found.items() if key[0] in counted}


def _ways_of_generics(kernel: MachineKernel, sites: Sequence[SiteCounts]) -> dict[int, tuple[int, int]]:
    """By block, executions of the pieces of generic atomics that serve the lanes of one space: what stands ahead of the
    loop for shared ones, and the way of local ones."""
    ways = {
        (kernel.suffix(s.site.module), s.site.ptx_line, s.site.space): (s.requests_on, s.threads_on)
        for s in sites
        if s.site.generic and s.site.recount is None
    }
    loops = {
        (kernel.suffix(s.site.module), s.site.ptx_line): s.requests_on
        for s in sites
        if s.site.generic and s.site.recount is not None and s.site.recount.rule == CountRule.EXCHANGE_LOAD
    }
    result = {}
    for access in kernel.accesses:
        if access.only is None or access.line is None or (*access.line, access.only) not in ways:
            continue
        if access.only == Space.GLOBAL:
            continue
        ran = ways[(*access.line, access.only)]
        if access.only == Space.LOCAL:
            result[access.block] = ran
        else:
            ahead = [p for p in kernel.blocks[access.block].predecessors if p != access.block]
            if len(ahead) == 1 and kernel.blocks[ahead[0]].successors == (access.block,):
                result[ahead[0]] = ran
            rounds = loops.get(access.line, 0)
            for behind in kernel.blocks[access.block].successors:  # each round's lanes leave by themselves
                if kernel.blocks[behind].predecessors == (access.block,) and rounds:
                    result[behind] = (rounds, ran[1])
    return result


def _accesses(
    kernel: MachineKernel,
    solved: Sequence[Executions],
    lines: Mapping[Line, tuple[int, int]],
    octets: Mapping[Line, int],
    runs: Mapping[int, list[tuple[Stage, int]]],
    sites: Sequence[SiteCounts],
) -> Iterable[AccessCost]:
    by_key: dict[tuple[Line, Recount | None], list[SiteCounts]] = {}
    staged = _staged(kernel, sites)
    for counted in sites:
        if counted.site.copy is not None:
            continue
        line = (kernel.suffix(counted.site.module), counted.site.ptx_line)
        by_key.setdefault((line, counted.site.recount), []).append(counted)
    copies = copies_by_line(kernel.accesses)
    shares: dict[int, tuple[Fraction, Fraction]] = {}
    for line, carrying in copies.items():
        shares.update(_shares(kernel, carrying, line, solved, lines, runs))
    for access in kernel.accesses:
        run = solved[access.block]
        if access.ptx is None or access.line is None:
            if access.is_spill:
                yield _spill(access, run, _octets(kernel.blocks[access.block], run, lines, octets))
            continue
        found = by_key.get((access.line, access.recount), ())
        if access.only is not None:
            found = [counted for counted in found if counted.site.space == access.only]
        elif len(found) > 1:  # one site for each space of a generic access: those with lanes, or the first
            found = [counted for counted in found if counted.threads_on > 0] or found[:1]
        own = staged.get((access.line, access.copy))
        for counted in found:
            if access.only is not None:
                yield _cost(access, run, counted, _WHOLE)
            elif own is not None:
                yield _cost(access, run, replace(own, patterns=counted.patterns, stride=counted.stride), _WHOLE)
            else:
                yield _cost(access, run, counted, shares[access.instruction.offset])


def _shares(
    kernel: MachineKernel,
    carrying: Sequence[MachineAccess],
    line: Line,
    solved: Sequence[Executions],
    lines: Mapping[Line, tuple[int, int]],
    runs: Mapping[int, list[tuple[Stage, int]]],
) -> dict[int, tuple[Fraction, Fraction]]:
    """By offset, the part [from, to) of all executions of the line of PTX that each copy stands for."""
    parts: dict[int, Fraction] = {}
    loop = next((n for n, loop in enumerate(kernel.loops) if line in loop.lines), None)
    ran = lines.get(line, (0, 0))[1]
    total = sum(stage.copies * threads for stage, threads in runs[loop]) if loop is not None else 0
    if loop is not None and total:
        for access in carrying:
            guarded = access.instruction.predicate is not None
            for stage, threads in runs[loop]:
                if access.block in stage.blocks and (guarded or not stage.guarded):
                    parts[access.instruction.offset] = Fraction(threads, total)
                    break
    rest = [access for access in carrying if access.instruction.offset not in parts]
    blocks = dict.fromkeys(access.block for access in rest)
    # Several in one block are pieces of one access; those of several blocks are alternatives.
    threads = sum(solved[block].threads for block in blocks)
    for access in rest:
        share = Fraction(solved[access.block].threads, threads) if len(blocks) > 1 and threads else Fraction(1)
        # One that was taken out of a loop runs where it stands.
        if len(rest) == 1 and access.instruction.predicate is None and 0 < threads < ran:
            share = Fraction(threads, ran)
        parts[access.instruction.offset] = share
    for access in carrying:
        if access.ptx is not None and access.ptx.in_pieces:
            parts[access.instruction.offset] *= _copies(kernel, access, loop, carrying)
    result = {}
    start = Fraction(0)
    for access in carrying:
        share = parts[access.instruction.offset]
        if start + share > 1:
            start = Fraction(0)
        result[access.instruction.offset] = (start, start + share)
        start += share
    return result


def _copies(
    kernel: MachineKernel, access: MachineAccess, loop: int | None, carrying: Sequence[MachineAccess]
) -> Fraction:
    """Of an access that several instructions make: the copies of it in a block over the instructions there."""
    together = sum(other.block == access.block for other in carrying)
    stages = kernel.loops[loop].stages if loop is not None else ()
    copies = next((stage.copies for stage in stages if access.block in stage.blocks), 1)
    return Fraction(copies, together)


_WHOLE = (Fraction(0), Fraction(1))


def _part(value: int, share: tuple[Fraction, Fraction]) -> int:
    """A part of a count, rounded so that parts that make up the whole add up to it."""
    if share == _WHOLE:
        return value
    return round(value * share[1]) - round(value * share[0])


def _cost(access: MachineAccess, run: Executions, counted: SiteCounts, share: tuple[Fraction, Fraction]) -> AccessCost:
    site = counted.site
    sectors = sectors_ideal = wavefronts = wavefronts_ideal = None
    on = run.threads if access.ptx is not None and access.ptx.in_pieces else _part(counted.threads_on, share)
    if access.recount is not None and access.recount.rule in EXCHANGES:
        wavefronts, wavefronts_ideal = counted.wavefronts, counted.wavefronts_ideal
    elif site.space == Space.SHARED:
        times = 2 if access.instruction.opcode.startswith("ATOMS.CAS") else 1  # one to compare, one to swap
        wavefronts = times * _part(counted.wavefronts, share)
        wavefronts_ideal = times * _part(counted.wavefronts_ideal, share)
    elif site.space in (Space.GLOBAL, Space.LOCAL, Space.TEXTURE, Space.SURFACE):
        sectors = _part(counted.sectors, share)
        sectors_ideal = _part(counted.sectors_ideal, share)
        if site.space == Space.LOCAL:
            sectors_ideal = min(sectors, -(-on * site.width_bits // 8 // 32))
    return AccessCost(
        access, counted, site.space, run.warps, run.threads, on, sectors, sectors_ideal, wavefronts,
        wavefronts_ideal,
    )  # fmt: skip


def _octets(
    block: MachineBlock, run: Executions, lines: Mapping[Line, tuple[int, int]], octets: Mapping[Line, int]
) -> int:
    """Groups of eight lanes in which a block's lanes were: those of a line that ran as often, or in proportion to the
    line; where there is none, as if the idle lanes were the last of one warp."""
    ran = [(i.module, i.ptx_line) for i in block.instructions if i.ptx_line is not None]
    for line in ran:
        if lines.get(line) == (run.warps, run.threads):
            return octets[line]
    for line in ran:
        warps, threads = lines.get(line, (0, 0))
        if threads and warps * run.threads == threads * run.warps:
            return octets[line] * run.threads // threads
    return -(-run.threads // _SECTOR_LANES)


def _spill(access: MachineAccess, run: Executions, octets: int) -> AccessCost:
    """Every active lane moves its words: eight lanes a sector of each word."""
    words = max(1, access.instruction.width_bits // 32)
    sectors = words * octets
    return AccessCost(
        access, None, Space.LOCAL, run.warps, run.threads, run.threads, sectors,
        min(sectors, -(-run.threads * words * 4 // 32)), None, None,
    )  # fmt: skip
