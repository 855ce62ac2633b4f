"""The counting functions in LLVM agree with the pure functions of `lanewise.hardware`."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable
from typing import NamedTuple

import llvmlite.binding as llvm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanewise.emulator import counting
from lanewise.emulator.ir import Emitter
from lanewise.hardware import banks, coalescing, pattern
from lanewise.records import AccessKind, Pattern

FULL = 0xFFFFFFFF
FUNCTIONS = ("lw_sectors", "lw_wavefronts", "lw_atomic_lanes", "lw_local_sectors", "lw_pattern")
LANE_ORDERS = {
    "in order": lambda lane: lane,
    "reversed": lambda lane: 31 - lane,
    "pairs swapped": lambda lane: lane ^ 1,
    "pairs": lambda lane: lane // 2,
    "quads": lambda lane: lane // 4,
    "halves": lambda lane: lane // 16,
    "wrapped at 8": lambda lane: lane % 8,
    "same": lambda lane: 0,
    "every other pair": lambda lane: lane & ~2,
    "a tile of 16 columns": lambda lane: lane % 16 + lane // 16 * 100,
    "a tile of 8 columns": lambda lane: lane % 8 + lane // 8 * 72,
    "a tile of 4 columns": lambda lane: lane % 4 + lane // 4 * 64,
    "squares": lambda lane: lane * lane,
}


class Compiled(NamedTuple):
    """The five functions, callable with Python numbers."""

    sectors: Callable[[list[int], int, int], int]
    wavefronts: Callable[[list[int], int, int, bool], int]
    atomic_lanes: Callable[[list[int], int, int], int]
    local_sectors: Callable[[list[int], int, int], int]
    pattern: Callable[[list[int], int, int], int]
    engine: object  # owns the machine code


def wrapper(name: str, returns: str, element: str, extra: str) -> str:
    parameters = "".join(f", {item}" for item in extra.split(", ") if item)
    return (
        f"define {returns} @call_{name}(ptr %lanes, i32 %mask{parameters}) {{\n"
        f"  %v = load <32 x {element}>, ptr %lanes, align 8\n"
        f"  %r = call {returns} @{name}(<32 x {element}> %v, i32 %mask{parameters})\n"
        f"  ret {returns} %r\n}}"
    )


@pytest.fixture(scope="session")
def compiled() -> Compiled:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    out = Emitter()
    for name in FUNCTIONS:
        counting.require(out, name)
    wrappers = (
        wrapper("lw_sectors", "i32", "i64", "i32 %bytes"),
        wrapper("lw_wavefronts", "i32", "i32", "i32 %bytes, i1 %is_load"),
        wrapper("lw_atomic_lanes", "i32", "i32", "i32 %bytes"),
        wrapper("lw_local_sectors", "i32", "i32", "i32 %bytes"),
        wrapper("lw_pattern", "i64", "i64", "i32 %bytes"),
    )
    module = llvm.parse_assembly("\n".join([*sorted(out.declarations), *out.definitions.values(), *wrappers]))
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2
    )
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()

    def callable_of(name: str, result: type, *extra: type) -> Callable[..., int]:
        element = np.uint64 if name in ("lw_sectors", "lw_pattern") else np.uint32
        prototype = ctypes.CFUNCTYPE(result, ctypes.c_void_p, ctypes.c_uint32, *extra)
        function = prototype(engine.get_function_address(f"call_{name}"))

        def call(lanes: list[int], *rest: int) -> int:
            array = np.array(lanes, dtype=element)
            return int(function(array.ctypes.data, *rest))

        return call

    i32, i64 = ctypes.c_int32, ctypes.c_int64
    return Compiled(
        sectors=callable_of("lw_sectors", i32, i32),
        wavefronts=callable_of("lw_wavefronts", i32, i32, ctypes.c_bool),
        atomic_lanes=callable_of("lw_atomic_lanes", i32, i32),
        local_sectors=callable_of("lw_local_sectors", i32, i32),
        pattern=callable_of("lw_pattern", i64, i32),
        engine=engine,
    )


def check_global(compiled: Compiled, addresses: list[int], mask: int, width: int) -> None:
    assert compiled.sectors(addresses, mask, width) == coalescing.sectors(addresses, mask, width)
    kind, stride = pattern.classify(addresses, mask, width)
    clipped = None if stride is None else max(-(1 << 31), min((1 << 31) - 1, stride))
    assert counting.unpack_pattern(compiled.pattern(addresses, mask, width)) == (kind, clipped)


def check_shared(compiled: Compiled, offsets: list[int], mask: int, width: int) -> None:
    for kind in (AccessKind.LOAD, AccessKind.STORE):
        expected = banks.wavefronts(offsets, mask, width, kind)
        assert compiled.wavefronts(offsets, mask, width, kind is AccessKind.LOAD) == expected
    if width <= 8:
        assert compiled.atomic_lanes(offsets, mask, width) == banks.atomic_lanes(offsets, mask, width)
    assert compiled.local_sectors(offsets, mask, width) == coalescing.local_sectors(offsets, mask, width)


def masks(rng: random.Random) -> list[int]:
    low = (1 << rng.randrange(1, 33)) - 1
    return [0, FULL, low, FULL ^ low, 0x55555555, 0xAAAAAAAA, 0x0000FFFF, 1 << rng.randrange(32), rng.getrandbits(32)]


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("order", LANE_ORDERS)
def test_regular_accesses(compiled: Compiled, order: str, width: int) -> None:
    rng = random.Random(width)
    place = LANE_ORDERS[order]
    for stride in (1, 2, 3, 4, 5, 8, 16, 17, 31, 32, 33):
        base = rng.randrange(64)
        units = [base + stride * place(lane) for lane in range(32)]
        for mask in masks(rng):
            check_global(compiled, [0x7F0000000000 + width * unit for unit in units], mask, width)
            check_shared(compiled, [width * unit % (1 << 17) for unit in units], mask, width)


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("span", [2, 8, 64, 256, 4096, 1 << 16, 1 << 20, 1 << 33, 1 << 40])
def test_random_accesses(compiled: Compiled, span: int, width: int) -> None:
    rng = random.Random(span + width)
    shared_span = min(span, 228 * 1024 // width)
    for _ in range(20):
        units = [rng.randrange(span) for _ in range(32)]
        offsets = [width * rng.randrange(shared_span) for _ in range(32)]
        for mask in masks(rng):
            check_global(compiled, [0x700000000000 + width * unit for unit in units], mask, width)
            check_shared(compiled, offsets, mask, width)


def test_runs_of_every_length_and_order(compiled: Compiled) -> None:
    rng = random.Random(7)
    for width in (1, 2, 4, 8, 16):
        for run in range(1, 33):
            for gap in (2, 3, 1 << 34):
                units = [lane % run + lane // run * (run + gap) for lane in range(32)]
                for mask in (FULL, FULL >> rng.randrange(32), rng.getrandbits(32)):
                    check_global(compiled, [(1 << 44) + width * unit for unit in units], mask, width)
                rng.shuffle(units)
                check_global(compiled, [(1 << 44) + width * unit for unit in units], FULL, width)


@settings(max_examples=200, deadline=None)
@given(
    values=st.lists(st.integers(0, 14000), min_size=32, max_size=32),
    mask=st.integers(0, FULL),
    log_width=st.integers(0, 4),
    pair=st.sampled_from([0, 1, 2, 3, 16]),
)
def test_any_access(compiled: Compiled, values: list[int], mask: int, log_width: int, pair: int) -> None:
    width = 1 << log_width
    lanes = [width * values[lane & ~pair] for lane in range(32)]  # some lanes agree with a neighbour
    check_global(compiled, lanes, mask, width)
    check_shared(compiled, lanes, mask, width)


def test_a_stride_beyond_32_bits_is_clipped(compiled: Compiled) -> None:
    up = [lane << 40 for lane in range(32)]
    assert counting.unpack_pattern(compiled.pattern(up, FULL, 4)) == (Pattern.STRIDED, (1 << 31) - 1)
    down = [(31 - lane) << 40 for lane in range(32)]
    assert counting.unpack_pattern(compiled.pattern(down, FULL, 4)) == (Pattern.STRIDED, -(1 << 31))


def test_require_adds_only_what_is_used() -> None:
    out = Emitter()
    counting.require(out, "lw_atomic_lanes")
    assert set(out.definitions) == {"lw_atomic_lanes", "lw_histogram", "lw_unit_rows"}
    assert out.declarations == {"declare <32 x i8> @llvm.umax.v32i8(<32 x i8>, <32 x i8>)"}
