"""A plan on the emulator: the outputs, and the counts that claims speak of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lanewise import api
from lanewise.checks.selection import ALL
from lanewise.emulator import tensor_maps
from lanewise.emulator.tensor_maps import Swizzle
from lanewise.errors import UsageError
from lanewise.ladder import texture_memory
from lanewise.ladder.catalog import MACHINE, METRICS
from lanewise.ladder.plan import MAP_TYPES, Plan, PlannedBuffer, PlannedMap
from lanewise.ladder.timeline import finished
from lanewise.records import Finding, LaunchRecord, RunResult
from lanewise.request import DEFAULT_DEVICE

#: numpy's types of the elements; bf16 is its bits.
NUMPY: dict[str, str] = {
    "u8": "u1",
    "u16": "u2",
    "u32": "u4",
    "i32": "i4",
    "u64": "u8",
    "i64": "i8",
    "f16": "f2",
    "bf16": "u2",
    "f32": "f4",
    "f64": "f8",
}
Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """`outputs` by buffer; `counts` by metric (`catalog.METRICS`), summed over the launches."""

    outputs: dict[str, Array]
    counts: Mapping[str, int]
    result: RunResult | None  # of all launches, for the reports; None where there is none
    findings: tuple[Finding, ...] = ()  # of the checks, each once

    @property
    def launches(self) -> tuple[LaunchRecord, ...]:
        return self.result.launches if self.result else ()

    @property
    def time_us(self) -> float | None:
        """Modelled, of all launches and copies together; None where it is not known of each launch."""
        return self.counts["modelled_ns"] / 1000 if self.counts["modelled_ns"] else None


def run(
    plan: Plan, inputs: Mapping[str, Array], *, device: str = DEFAULT_DEVICE, advise: bool = False, check: bool = False
) -> Outcome:
    """Run the launches of a plan. Buffers that are not inputs start with all bits set, or zero where the plan says so.
    `advise`: the records say what to change. `check`: their findings say what is wrong, all checks together; what was
    not set counts as not written.

    Raises what `lanewise.compile` and a launch raise: CompileError, UnsupportedCode, KernelFault, UsageError.
    """
    options = [f"-D{name}={value}" for name, value in plan.defines.items()]
    # What only one architecture has (wgmma, setmaxnreg) is machine code for that one alone: sm_90a.
    arch = f"sm_{plan.rung.arch}a" if plan.rung.arch >= 90 else None
    module = api.compile(plan.rung.source(), device=device, arch=arch, options=options)
    kernels = {launch.kernel: module[launch.kernel] for launch in plan.launches}
    outputs: dict[str, Array] = {
        buffer.name: np.frombuffer(bytearray(_start(buffer, inputs)), NUMPY[buffer.type])
        for buffer in plan.buffers
        if buffer.role == "output"
    }
    counts: Counter[str] = Counter(dict.fromkeys(METRICS, 0))
    records: list[api.Record] = []
    findings: list[Finding] = []
    if not kernels:
        return Outcome(outputs, counts, None)
    # The buffers live across the launches, and one launch may have the same buffer twice.
    emulated = next(iter(kernels.values())).device
    memory, checker = emulated.memory, emulated.checker_for(ALL) if check else None
    places: dict[str, int] = {}
    made: list[int] = []
    try:
        for buffer in plan.buffers:
            places[buffer.name] = memory.allocate(max(1, buffer.bytes), name=buffer.name).base
            made.append(places[buffer.name])
            memory.write(places[buffer.name], _start(buffer, inputs))
            if checker is not None and (buffer.zero or buffer.role == "input"):
                checker.initialised(places[buffer.name], buffer.bytes)
        handles: dict[str, int] = {}
        for texture in plan.textures:
            image = inputs[texture.buffer].reshape(texture.rows, texture.columns)
            handles[texture.name], bases = texture_memory.make(memory, image, texture.name)
            made += bases
        maps = {entry.name: _encoded(entry, places[entry.buffer]) for entry in plan.maps}
        for launch in plan.launches:
            arguments = [_argument(kind, value, places, handles, maps) for kind, value in launch.arguments]
            call = kernels[launch.kernel][launch.grid, launch.block, launch.shared_bytes]
            records.append(call.check(*arguments) if check else call.advise(*arguments) if advise else call(*arguments))
            counts.update(counted(records[-1].launch))
            findings += records[-1].findings
            if checker is not None:  # an output may be longer than what is stored
                for name, array in outputs.items():
                    findings += checker.leaves(places[name], array.nbytes, unwritten=False)
        for name, array in outputs.items():
            array[...] = np.frombuffer(memory.read(places[name], array.nbytes), array.dtype)
    finally:
        for base in made:
            memory.free(base)
    launches = tuple(record.launch for record in records)
    times = [launch.time_us for launch in launches if launch.time_us is not None]
    if len(times) == len(launches):
        counts["modelled_ns"] = round(1000 * finished(plan, times, emulated.spec.rates.host_gb_s))
    name = f"{plan.rung.subject}/{plan.rung.name}"
    result = replace(records[-1].result, program=name, launches=launches)
    return Outcome(outputs, counts, result, tuple(dict.fromkeys(findings)))


def _encoded(entry: PlannedMap, address: int) -> bytes:
    """The map of a buffer at `address`. UsageError for one that a driver would refuse."""
    tensor = tensor_maps.TensorMap(
        type=tensor_maps.ElementType(MAP_TYPES[entry.type]),
        address=address,
        dims=entry.extents,
        strides=entry.pitches,
        steps=(1,) * len(entry.extents),
        box=entry.box,
        swizzle={0: Swizzle.NONE, 32: Swizzle.SPAN_32, 64: Swizzle.SPAN_64, 128: Swizzle.SPAN_128}[entry.swizzle],
    )
    wrong = tensor_maps.problem(tensor)
    if wrong is not None:
        raise UsageError(f"ladder: tensor map {entry.name}: {wrong}")
    return tensor_maps.encode(tensor)


def _argument(
    kind: str,
    value: str | int | float,
    places: Mapping[str, int],
    handles: Mapping[str, int],
    maps: Mapping[str, bytes],
) -> Any:
    if kind == "map":
        return maps[str(value)]
    if kind == "buffer":
        return places[str(value)]
    if kind == "texture":
        return handles[str(value)]
    return np.dtype(NUMPY[kind]).type(value)


def _start(buffer: PlannedBuffer, inputs: Mapping[str, Array]) -> bytes:
    """What a buffer holds before the first launch."""
    if buffer.role == "input":
        return np.ascontiguousarray(inputs[buffer.name]).tobytes()
    return bytes(buffer.bytes) if buffer.zero else b"\xff" * buffer.bytes


def counted(record: LaunchRecord) -> dict[str, int]:
    """The metrics of one launch. What the bulk copy engine moves is no request of a warp."""
    counts: Counter[str] = Counter()
    for access in record.accesses:
        name = f"{MACHINE if access.basis == 'sass' else ''}{access.space}_{access.kind}"
        for what, value in (
            ("requests", access.requests),
            ("sectors", access.sectors),
            ("wavefronts", access.wavefronts),
        ):
            if what == "requests" and "bulk" in access.opcode.split("."):
                continue
            if f"{name}_{what}" in METRICS and value is not None:
                counts[f"{name}_{what}"] += value
    counts["launches"] = 1
    counts["ptx_instructions"] = record.ptx_instructions
    counts["instructions"] = record.instructions or 0
    counts["registers"] = record.resources.registers if record.resources else 0
    counts["resident_warps"] = record.occupancy.active_warps if record.occupancy else 0
    counts["divergent_branches"] = sum(line.divergent_branches for line in record.lines)
    return dict(counts)
