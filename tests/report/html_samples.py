"""A result with everything that the page shows: times, traffic, advice, samples of lanes, code."""

from __future__ import annotations

from dataclasses import replace

from samples import PROGRAM, TRANSPOSE, transposes

from lanewise.records import (
    AccessKind,
    Finding,
    Gain,
    KernelCode,
    LaneSample,
    LaunchRecord,
    LineCode,
    MemoryTraffic,
    Roof,
    RunResult,
    Said,
    Severity,
    SourceLine,
    Space,
    Tried,
    Unit,
)

MIB = 1 << 20
STORE = LaneSample(
    PROGRAM,
    4,
    56,
    Space.GLOBAL,
    AccessKind.STORE,
    32,
    0x7F00_0000_0000,
    tuple(8192 * lane for lane in range(32)),
    "out",
)
CONFLICT = LaneSample(
    PROGRAM, 12, 60, Space.SHARED, AccessKind.LOAD, 32, 0, tuple(128 * lane for lane in range(32)), "t"
)


def _timed(launch: LaunchRecord, time: float, flops: int) -> LaunchRecord:
    gflops = flops / time / 1e3
    roof = Roof(32 * MIB / time / 1e3, 4430.0, gflops, 66908.0, flops, flops / (32 * MIB), 700.0, 5700.0)
    return replace(
        launch,
        time_us=time,
        bound="DRAM",
        stall="long scoreboard",
        units=(Unit("DRAM", 900.0, 0.45), Unit("LSU and L1", 300.0, 0.15)),
        roof=roof,
        memory=MemoryTraffic(0.0, 0.5, 16 * MIB, 64 * MIB, 16 * MIB, 15 * MIB, 1.0),
        caches="warm",
        device="NVIDIA H200",
        advised=True,
    )


def advised() -> RunResult:
    """The transposes with times, and advice on the first."""
    plain = transposes()
    naive, shared, padded = (
        _timed(launch, time, flops)
        for launch, time, flops in zip(plain.launches, (74.0, 32.0, 17.0), (0, 1 << 20, 1 << 24), strict=True)
    )
    said = (
        Said("message", "strided_access.message", (("kind", "@kind.store"), ("stride", "8,192"), ("sectors", "32"),
                                                   ("ideal", "4"), ("sector", "32"))),
        Said("change", "strided_access.tile_change"),
        Said("next_step", "strided_access.tile", (("rows", "32"), ("columns", "33"))),
        Said("price", "strided_access.tile_price", (("bytes", "4,224"),)),
    )  # fmt: skip
    finding = Finding(
        "strided_access",
        Severity.NOTE,
        "Strided store",
        kernel=naive.kernel,
        source=SourceLine(PROGRAM, 4),
        gain=Gain(74.0, 17.0, Tried.RERUN, "a tile in shared memory"),
        rung="transpose padded",
        samples=(STORE,),
        said=said,
    )
    code = KernelCode(
        naive.symbol,
        (
            LineCode(PROGRAM, 4, ((56, "st.global.f32 [%rd8], %f1;"),), ((0x130, 56, "STG.E desc[UR4][R4.64], R3"),)),
            LineCode(None, None, (), ((0, None, "LDC R1, c[0x0][0x28]"),)),
        ),
    )
    return replace(
        plain,
        launches=(
            replace(naive, advice=(finding,), samples=(STORE,)),
            replace(shared, samples=(CONFLICT,)),
            padded,
        ),
        sources={PROGRAM: TRANSPOSE},
        code=(code,),
        notes=("times are modelled", "a note\nof two lines"),
    )
