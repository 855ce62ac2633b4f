"""Counts of every memory access equal those of the pure functions of `lanewise.hardware` on the addresses themselves.

One kernel holds many accesses, each on a source line of its own, in branches that leave some lanes out; the addresses
and masks of every warp are computed here in Python.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import lanewise
from lanewise.hardware import banks, coalescing, pattern
from lanewise.records import Access, AccessKind, Pattern, Space

pytestmark = pytest.mark.machine_code

ELEMENTS = 4096
DATA = np.random.default_rng(5).integers(0, 1024, 1024).astype(np.int32)
WIDTHS = {1: "char", 2: "short", 4: "int", 8: "long long", 16: "int4"}
Thread = tuple[int, int, int, int]  # threadIdx.x, .y, linear thread, blockIdx.x

INDICES: list[tuple[str, Callable[[int, int, int, int], int]]] = [
    ("t", lambda x, y, t, b: t),
    ("t + 3", lambda x, y, t, b: t + 3),
    ("2 * t", lambda x, y, t, b: 2 * t),
    ("3 * t + 5", lambda x, y, t, b: 3 * t + 5),
    ("1000 - t", lambda x, y, t, b: 1000 - t),
    ("t / 2", lambda x, y, t, b: t // 2),
    ("t * 7 % 64", lambda x, y, t, b: t * 7 % 64),
    ("(t ^ 5)", lambda x, y, t, b: t ^ 5),
    ("(t & ~3)", lambda x, y, t, b: t & ~3),
    ("x", lambda x, y, t, b: x),
    ("y * 64 + x", lambda x, y, t, b: y * 64 + x),
    ("x * 64 + y", lambda x, y, t, b: x * 64 + y),
    ("y", lambda x, y, t, b: y),
    ("7", lambda x, y, t, b: 7),
    ("b * 320 + t", lambda x, y, t, b: b * 320 + t),
    ("b * 11", lambda x, y, t, b: b * 11),
    ("r", lambda x, y, t, b: int(DATA[t])),
    ("r % 32 + 2 * x", lambda x, y, t, b: int(DATA[t]) % 32 + 2 * x),
    ("x * n + y", lambda x, y, t, b: x * 36 + y),
    ("x * m", lambda x, y, t, b: x),
    ("(t + 4 & 31)", lambda x, y, t, b: t + 4 & 31),
    ("(unsigned)(t + 31) % 32u", lambda x, y, t, b: (t + 31) % 32),
]
CONDITIONS: list[tuple[str, Callable[[int, int, int, int], bool]]] = [
    ("", lambda x, y, t, b: True),
    ("if (t < 29)", lambda x, y, t, b: t < 29),
    ("if (t >= 7)", lambda x, y, t, b: t >= 7),
    ("if (t % 3 != 1)", lambda x, y, t, b: t % 3 != 1),
    ("if (r & 4)", lambda x, y, t, b: bool(DATA[t] & 4)),
    ("if (t % 32 == 9)", lambda x, y, t, b: t % 32 == 9),
    ("if (b == 1)", lambda x, y, t, b: b == 1),
]
SHAPES = [(32, 1, 1), (16, 8, 1), (5, 7, 3), (40, 1, 1), (64, 3, 1), (8, 2, 2), (3, 1, 1)]


@dataclass(frozen=True)
class Line:
    """One access: what it is in CUDA, its kind, and which index and condition it has."""

    text: str
    space: Space
    kind: AccessKind
    width: int
    index: int
    condition: int


def lines(seed: int, count: int) -> list[Line]:
    rng = random.Random(seed)
    result = []
    for _ in range(count):
        width, condition, index = rng.choice(list(WIDTHS)), rng.randrange(len(CONDITIONS)), rng.randrange(len(INDICES))
        space, kind = rng.choice([Space.GLOBAL, Space.SHARED]), rng.choice([AccessKind.LOAD, AccessKind.STORE])
        array = f"{'g' if space == Space.GLOBAL else 's'}{width}"
        offset = f" + {len(result)}" if kind == AccessKind.LOAD else ""  # no two loads are the same
        place = f"{array}[{INDICES[index][0]}{offset}]"
        if kind == AccessKind.STORE:
            value = "make_int4(t, t, t, t)" if width == 16 else "t"
            text = f"{CONDITIONS[condition][0]} {place} = {value};"
        else:
            text = f"{CONDITIONS[condition][0]} sum += {f'total({place})' if width == 16 else place};"
        result.append(Line(text, space, kind, width, index, condition))
    return result


def source(wanted: list[Line]) -> str:
    parameters = ", ".join(f"{kind}* g{width}" for width, kind in WIDTHS.items())
    shared = "\n".join(f"  {kind}* s{width} = ({kind}*)shared;" for width, kind in WIDTHS.items())
    body = "\n".join(f"  {line.text}" for line in wanted)
    return f"""__device__ int total(int4 v) {{ return v.x + v.y * 3 + v.z * 5 + v.w * 7; }}
extern __shared__ int4 shared[];
__global__ void k({parameters}, const int* data, int n, int m, long long* out) {{
  int x = threadIdx.x, y = threadIdx.y, t = (threadIdx.z * blockDim.y + y) * blockDim.x + x, b = blockIdx.x;
{shared}
  int r = data[t];
  long long sum = 0;
{body}
  out[b * blockDim.x * blockDim.y * blockDim.z + t] = sum;
}}
"""


FIRST_LINE = 4 + len(WIDTHS) + 3  # of the body
ORDER = [Pattern.BROADCAST, Pattern.CONTIGUOUS, Pattern.STRIDED, Pattern.SCATTERED]


def brute_force(line: Line, number: int, shape: tuple[int, int, int], blocks: int) -> dict[str, object]:
    """The counts of one access, from the addresses of each warp."""
    threads = shape[0] * shape[1] * shape[2]
    found = dict.fromkeys(("requests", "threads_on", "cost", "ideal"), 0)
    worst = None
    for block in range(blocks):
        for first in range(0, threads, 32):
            mask, addresses = 0, [0] * 32
            for lane in range(min(32, threads - first)):
                t = first + lane
                place = (t % shape[0], t // shape[0] % shape[1], t, block)
                if CONDITIONS[line.condition][1](*place):
                    mask |= 1 << lane
                    offset = number if line.kind == AccessKind.LOAD else 0
                    addresses[lane] = line.width * (INDICES[line.index][1](*place) + offset)
            if not mask:
                continue
            found["requests"] += 1
            found["threads_on"] += mask.bit_count()
            if line.space == Space.GLOBAL:
                cost, fill = coalescing.sectors(addresses, mask, line.width), 32
            else:
                cost, fill = banks.wavefronts(addresses, mask, line.width, line.kind), 128
            found["cost"] += cost
            found["ideal"] += min(cost, -(-mask.bit_count() * line.width // fill))
            kind, _ = pattern.classify(addresses, mask, line.width)
            assert kind is not None
            worst = kind if worst is None else max(worst, kind, key=ORDER.index)
    return {**found, "pattern": worst}


def counted(accesses: list[Access]) -> dict[str, object]:
    """The same from the record. The compiler may have copied an access into both arms of a branch that follows."""
    shared = accesses[0].space == Space.SHARED
    return {
        "requests": sum(a.requests for a in accesses),
        "threads_on": sum(a.threads_on for a in accesses),
        "cost": sum((a.wavefronts if shared else a.sectors) or 0 for a in accesses),
        "ideal": sum((a.wavefronts_ideal if shared else a.sectors_ideal) or 0 for a in accesses),
        "pattern": max((a.pattern for a in accesses if a.pattern), key=ORDER.index),
    }


@pytest.mark.parametrize("seed", range(4))
def test_counts_equal_brute_force(seed: int) -> None:
    wanted = lines(seed, 40)
    kernel = lanewise.compile(source(wanted))["k"]
    for shape in SHAPES:
        arrays = [np.zeros(width * ELEMENTS, np.uint8) for width in WIDTHS]
        threads = shape[0] * shape[1] * shape[2]
        out = np.zeros(2 * threads, np.int64)
        record = kernel[2, shape, 16 * ELEMENTS](*arrays, DATA, np.int32(36), np.int32(1), out)
        for number, line in enumerate(wanted):
            mine = [a for a in record.accesses if a.line == FIRST_LINE + number]
            expected = brute_force(line, number, shape, 2)
            if expected["requests"] == 0:
                assert not any(a.requests for a in mine), (line, shape)
                continue
            assert counted(mine) == expected, (line, shape)
