"""Raw counts of a launch to a `LaunchRecord`: what the reports read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from lanewise.demangle import demangle
from lanewise.emulator import counts
from lanewise.emulator.counts import SiteCounts
from lanewise.emulator.engine import Launched
from lanewise.emulator.launch import Dim
from lanewise.emulator.layout import BLOCK_THREADS, BLOCK_WARPS
from lanewise.hardware.device import DeviceSpec
from lanewise.hardware.occupancy import occupancy
from lanewise.model.launch import DeviceModel, Modelled
from lanewise.records import Access, KernelResources, LaunchRecord, LineCounts, Pattern, SourceLine, Space
from lanewise.sass.costs import AccessCost, MachineCosts, machine_costs
from lanewise.sass.kernel import MachineKernel

SPILL = "(spill)"  # stands for the array of registers that ptxas keeps in local memory


def launch_record(
    number: int,
    launched: Launched,
    *,
    symbol: str,
    grid: Dim,
    block: Dim,
    cluster: Dim | None,
    dynamic_shared: int,
    stream: int,
    device: DeviceSpec,
    resources: KernelResources | None,
    machine: MachineKernel | None = None,
) -> LaunchRecord:
    """The record of one launch on a device. `resources` come from ptxas; None leaves occupancy out. `machine` is the
    code that the launch was counted for; None leaves out what the hardware is charged. What happened in caches, and
    how long it took, is for `modelled_on` to say."""
    info, outcome = launched.kernel.info, launched.outcome
    threads = block[0] * block[1] * block[2]
    fitting = None
    if resources is not None:
        fitting = occupancy(
            device,
            threads_per_block=threads,
            registers_per_thread=resources.registers,
            static_shared=resources.static_shared_bytes,
            dynamic_shared=dynamic_shared,
        )
    accesses = tuple(access(site) for site in counts.site_counts(info, outcome.counters) if _seen(site))
    costs = None
    if machine is not None:
        costs = machine_costs(machine, info, outcome.counters, _started(grid, block, launched))
        accesses += tuple(machine_access(cost) for cost in costs.accesses if cost.requests > 0)
    if launched.fault is not None:
        accesses = tuple(record for record in accesses if _happened(record))
    return LaunchRecord(
        id=number,
        kernel=demangle(symbol),
        symbol=symbol,
        grid=grid,
        block=block,
        cluster=cluster,
        dynamic_shared_bytes=dynamic_shared,
        resources=resources,
        occupancy=fitting,
        device=device.name,
        stream=stream,
        ptx_instructions=counts.warp_instructions(info, outcome.counters),
        ptx_thread_instructions=counts.thread_instructions(info, outcome.counters),
        instructions=None if costs is None else costs.instructions,
        thread_instructions=None if costs is None else costs.thread_instructions,
        accesses=accesses,
        lines=tuple(line_counts(launched)),
        findings=() if launched.fault is None else (launched.fault,),
        completed=launched.fault is None,
        seconds=outcome.seconds,
    )


def modelled_on(
    model: DeviceModel, record: LaunchRecord, launched: Launched, machine: MachineKernel | None
) -> tuple[LaunchRecord, Modelled | None]:
    """The record with what a model says of caches and time; without, where the launch did not end or its machine code
    is not known."""
    info, outcome = launched.kernel.info, launched.outcome
    record = replace(record, device=model.spec.name)
    if machine is None or outcome.trace is None or launched.fault is not None:
        return record, None
    counted = counts.site_counts(info, outcome.counters)
    modelled = model.launch(record, machine, costs_of(record, launched, machine), info.sites, outcome.trace, counted)
    return _with_model(record, modelled), modelled


def costs_of(record: LaunchRecord, launched: Launched, machine: MachineKernel) -> MachineCosts:
    """What a launch cost by its machine code."""
    started = _started(record.grid, record.block, launched)
    return machine_costs(machine, launched.kernel.info, launched.outcome.counters, started)


def _started(grid: Dim, block: Dim, launched: Launched) -> tuple[int, int]:
    """Warps and threads. A launch that did not run to its end started no more than its first block of PTX says."""
    blocks, threads = (x * y * z for x, y, z in (grid, block))
    began = counts.block_counters(launched.kernel.info, launched.outcome.counters)[0].tolist()
    return min(blocks * -(-threads // 32), began[BLOCK_WARPS]), min(blocks * threads, began[BLOCK_THREADS])


def _with_model(record: LaunchRecord, modelled: Modelled | None) -> LaunchRecord:
    """The record with what a model of its device says."""
    if modelled is None:
        return record
    timed = modelled.timing
    return replace(
        record,
        time_us=timed.time_us,
        bound=timed.bound,
        stall=timed.stall,
        units=timed.units,
        roof=modelled.roof,
        memory=modelled.memory,
        caches=modelled.caches,
    )


def _seen(counted: SiteCounts) -> bool:
    """A generic access stands for three sites; those of spaces that no lane touched are left out."""
    return (
        counted.requests > 0 and counted.site.recount is None and (not counted.site.generic or counted.threads_on > 0)
    )


def _happened(record: Access) -> bool:
    """In a launch that did not run to its end: not an access that stands in a block which was left before it."""
    return 0 not in (record.sectors, record.wavefronts)


def access(counted: SiteCounts) -> Access:
    """One site as the reports show it."""
    site = counted.site
    source = site.source
    has_sectors = site.space in (
        Space.GLOBAL,
        Space.LOCAL,
        Space.TEXTURE,
        Space.SURFACE,
    )  # constants are not read by sectors
    shared = site.space == Space.SHARED
    pattern, stride = _pattern(counted)
    return Access(
        basis="ptx",
        file=source.file if source else None,
        line=source.line if source else None,
        inlined_at=source.inlined_at if source else None,
        ptx_line=site.ptx_line,
        opcode=site.opcode,
        space=site.space,
        kind=site.kind,
        width_bits=site.width_bits,
        requests=counted.requests,
        threads=counted.threads,
        threads_on=counted.threads_on,
        sectors=counted.sectors if has_sectors else None,
        sectors_ideal=_sectors_ideal(counted) if has_sectors else None,
        wavefronts=counted.wavefronts if shared else None,
        wavefronts_ideal=counted.wavefronts_ideal if shared else None,
        pattern=pattern,
        stride_bytes=stride,
        array=demangle(site.array) if site.array else None,
    )


def machine_access(cost: AccessCost) -> Access:
    """One machine instruction as the reports show it."""
    site = cost.site.site if cost.site is not None else None
    instruction = cost.access.instruction
    memory = instruction.memory
    assert memory is not None
    source = cost.access.source
    pattern, stride = _pattern(cost.site) if cost.site is not None else (None, None)
    return Access(
        basis="sass",
        file=source.file if source else None,
        line=source.line if source else None,
        inlined_at=source.inlined_at if source else None,
        ptx_line=instruction.ptx_line or 0,
        opcode=site.opcode if site else instruction.opcode,
        space=cost.space,
        kind=site.kind if site is not None and instruction.name == "LDGSTS" else memory[1],
        width_bits=instruction.width_bits,
        requests=cost.requests,
        threads=cost.threads,
        threads_on=cost.threads_on,
        sectors=cost.sectors,
        sectors_ideal=cost.sectors_ideal,
        wavefronts=cost.wavefronts,
        wavefronts_ideal=cost.wavefronts_ideal,
        pattern=pattern,
        stride_bytes=stride,
        array=SPILL if cost.site is None else demangle(site.array) if site and site.array else None,
        sass=instruction.text,
        sass_offset=instruction.offset,
    )


def _sectors_ideal(counted: SiteCounts) -> int:
    """Local memory is laid out so that lanes at one offset share sectors: as many as the bytes fill, a request."""
    if counted.site.space != Space.LOCAL:
        return counted.sectors_ideal
    return min(counted.sectors, -(-counted.threads_on * counted.site.width_bits // 8 // 32))


def _pattern(counted: SiteCounts) -> tuple[Pattern | None, int | None]:
    """The worst pattern seen; a stride only where all strided requests had the same."""
    worst = counted.pattern
    return worst, counted.stride if worst == Pattern.STRIDED else None


def line_counts(launched: Launched) -> Iterable[LineCounts]:
    """Executions by source line, of the line in the innermost function; lines in order."""
    info = launched.kernel.info
    blocks = counts.block_counters(info, launched.outcome.counters)
    totals: dict[tuple[str, int], list[int]] = {}

    def slot(source: SourceLine | None) -> list[int] | None:
        if source is None:
            return None
        return totals.setdefault((source.file, source.line), [0, 0, 0, 0])

    for number, block in enumerate(info.blocks):
        warps, threads, divergent = (int(v) for v in blocks[number, :3])
        if not warps:
            continue
        for source, instructions in block.lines:
            if (entry := slot(source)) is not None:
                entry[0] += warps * instructions
                entry[1] += threads * instructions
        if block.branch is not None and (entry := slot(block.branch[0])) is not None:
            entry[2] += warps
            entry[3] += divergent
    for (file, line), (warp_level, thread_level, branches, split) in sorted(totals.items()):
        yield LineCounts(file, line, warp_level, thread_level, branches, split)
