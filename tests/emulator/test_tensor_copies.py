"""Copies of boxes of tensors against a reference that goes element by element, and what is wrong with some."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import tensor_reference as reference

import lanewise
from lanewise.emulator import tensor_maps
from lanewise.emulator.tensor_maps import ElementType, TensorMap
from lanewise.errors import KernelFault, UsageError

pytestmark = pytest.mark.machine_code

ROOM = 49152

_ASK = "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"


def _load(rank: int, mode: str) -> str:
    """A case of the kernel below: a copy of this rank."""
    coordinates = ", ".join(f"%{3 + d}" for d in range(rank))
    inputs = "".join(f', "r"(c[{d}])' for d in range(rank))
    offsets = ""
    if mode == "im2col":
        offsets = ", {" + ", ".join(f"%{3 + rank + d}" for d in range(rank - 2)) + "}"
        inputs += "".join(f', "h"((unsigned short)o[{d}])' for d in range(rank - 2))
    return (
        f'case {rank + 8 * (mode == "im2col")}: asm volatile("cp.async.bulk.tensor.{rank}d.shared::cluster.global'
        f'.{mode}.mbarrier::complete_tx::bytes [%0], [%1, {{{coordinates}}}], [%2]{offsets};" '
        f':: "r"(s), "l"(&map), "r"(b){inputs} : "memory"); break;\n'
    )


def _store(rank: int, mode: str, operation: str = "") -> str:
    coordinates = ", ".join(f"%{2 + d}" for d in range(rank))
    inputs = "".join(f', "r"(c[{d}])' for d in range(rank))
    name = f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{operation}.{mode}"
    if not operation:
        name = f"cp.async.bulk.tensor.{rank}d.global.shared::cta.{mode}"
    return (
        f'asm volatile("{name}.bulk_group [%1, {{{coordinates}}}], [%0];" :: "r"(s), "l"(&map){inputs} : "memory");\n'
    )


REDUCTIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")
SOURCE = f"""
struct __align__(64) Map {{ char bytes[128]; }};
struct Place {{ int c[5], o[3]; }};
extern "C" __global__ void load(const __grid_constant__ Map map, Place place, int which, int at, int bytes, int waits,
                                unsigned* out) {{
  extern __shared__ __align__(1024) unsigned char room[];
  __shared__ __align__(8) unsigned long long barrier;
  unsigned s = (unsigned)__cvta_generic_to_shared(room) + at, b = (unsigned)__cvta_generic_to_shared(&barrier);
  int* c = place.c; int* o = place.o;
  for (int i = threadIdx.x; i < {ROOM // 4}; i += blockDim.x) ((unsigned*)room)[i] = 0xCDCDCDCD;
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b) : "memory");
  __syncthreads();
  if (threadIdx.x == 0) {{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(b), "r"(bytes) : "memory");
    switch (which) {{
      {"".join(_load(rank, "tile") for rank in range(1, 6))}
      {"".join(_load(rank, "im2col") for rank in range(3, 6))}
    }}
  }}
  if (waits) {{
    unsigned done = 0;
    while (!done) asm volatile("{_ASK}" : "=r"(done) : "r"(b) : "memory");
  }}
  __syncthreads();
  for (int i = threadIdx.x; i < {ROOM // 4}; i += blockDim.x) out[i] = ((unsigned*)room)[i];
}}
extern "C" __global__ void store(const __grid_constant__ Map map, Place place, int which, int at, const unsigned* in) {{
  extern __shared__ __align__(1024) unsigned char room[];
  unsigned s = (unsigned)__cvta_generic_to_shared(room) + at;
  int* c = place.c;
  for (int i = threadIdx.x; i < {ROOM // 4}; i += blockDim.x) ((unsigned*)room)[i] = in[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {{
    switch (which) {{
      {"".join(f"case {rank}: {_store(rank, 'tile')} break;" for rank in range(1, 6))}
      {"".join(f"case {rank + 8}: {_store(rank, 'im2col_no_offs')} break;" for rank in range(3, 6))}
      {"".join(f"case {20 + n}: {_store(2, 'tile', name)} break;" for n, name in enumerate(REDUCTIONS))}
    }}
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
  }}
}}
extern "C" __global__ void multicast(const __grid_constant__ Map map, unsigned short blocks, unsigned* out) {{
  __shared__ __align__(128) unsigned char room[1024];
  __shared__ __align__(8) unsigned long long barrier;
  unsigned s = (unsigned)__cvta_generic_to_shared(room), b = (unsigned)__cvta_generic_to_shared(&barrier), rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b) : "memory");
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  bool gets = blocks >> rank & 1;
  if (threadIdx.x == 0 && gets) {{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(b), "r"(1024) : "memory");
  }}
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  if (rank == 0 && threadIdx.x == 0)
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
                 " [%0], [%1, {{%3, %4}}], [%2], %5;"
                 :: "r"(s), "l"(&map), "r"(b), "r"(0), "r"(8), "h"(blocks) : "memory");
  unsigned done = !gets;
  while (!done) asm volatile("{_ASK}" : "=r"(done) : "r"(b) : "memory");
  for (int i = threadIdx.x; i < 256; i += blockDim.x) out[256 * rank + i] = gets ? ((unsigned*)room)[i] : 0;
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}}
"""
NUMPY = {1: "u1", 2: "u2", 4: "u4", 8: "u8"}


@pytest.fixture(scope="module")
def kernels() -> lanewise.Module:
    return lanewise.compile(SOURCE, arch="sm_90a")


def place(start: tuple[int, ...], offsets: tuple[int, ...] = ()) -> bytes:
    padded = [*start, *(0,) * (5 - len(start)), *offsets, *(0,) * (3 - len(offsets))]
    return np.array(padded, np.int32).tobytes()


def noise(size: int, seed: int) -> reference.Bytes:
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8)


def draw(rng: random.Random) -> tuple[dict[str, Any], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """A map's arguments, the tensor's shape (dimension 0 first), a start and offsets."""
    im2col = rng.random() < 0.4
    rank = rng.randint(3, 5) if im2col else rng.randint(1, 5)
    kind = rng.choice(list(ElementType))
    unit = 16 // kind.size
    swizzle = rng.choice([0, 32, 64, 128])
    shape = (unit * rng.randint(1, 8), *(rng.randint(1, 9) for _ in range(rank - 1)))
    row = unit * rng.randint(1, max(1, (swizzle or 128) // 16))
    steps = tuple(rng.choice([1, 1, 1, 2, 3]) for _ in range(rank))
    start = (unit * rng.randint(-2, shape[0] // unit + 1), *(rng.randint(-3, size + 1) for size in shape[1:]))
    given: dict[str, Any] = {"type": kind, "swizzle": swizzle, "steps": steps}
    given["fill_nan"] = kind.is_float and rng.random() < 0.3
    if not im2col and rank > 2 and rng.random() < 0.4:
        given["interleave"] = rng.choice([16, 32])
        start = (rng.randint(-2, shape[0]), *start[1:])
    if not im2col:
        given["box"] = (row, *(rng.randint(1, 5) for _ in range(rank - 1)))
        return given, shape, start, ()
    lower = tuple(rng.randint(-2, 0) for _ in range(rank - 2))
    upper = tuple(rng.randint(-1, 1) if shape[d + 1] > 1 else 0 for d in range(rank - 2))
    given |= {"lower": lower, "upper": upper, "channels": row, "pixels": rng.randint(1, 60)}
    pixels = [rng.randint(lo, size + up - 1) for lo, up, size in zip(lower, upper, shape[1:-1], strict=True)]
    return given, shape, (start[0], *pixels, start[-1]), tuple(rng.randint(0, 3) for _ in range(rank - 2))


def bare(given: dict[str, Any], shape: tuple[int, ...]) -> TensorMap:
    """The map as the reference takes it."""
    interleave = given.get("interleave", 0)
    size, strides = interleave or given["type"].size, []
    for extent in shape[:-1]:
        size *= extent
        strides.append(size)
    rest = {k: v for k, v in given.items() if k not in ("type", "swizzle", "interleave", "fill_nan")}
    swizzle = {0: 0, 32: 1, 64: 2, 128: 3}[given["swizzle"]]
    return TensorMap(given["type"], 0, shape, tuple(strides), swizzle=swizzle, interleave=interleave // 16,
        fill=int(given["fill_nan"]), is_im2col="box" not in given, **rest,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_against_the_reference(kernels: lanewise.Module, seed: int) -> None:
    rng = random.Random(seed)
    given, shape, start, offsets = draw(rng)
    tensor = bare(given, shape)
    assert tensor_maps.problem(tensor) is None
    unit, size = reference.unit(tensor), given["type"].size
    memory = noise(int(np.prod(shape)) * unit, seed)
    array = memory.view(NUMPY[size]).reshape(*shape[::-1], *([unit // size] if tensor.interleave else []))
    at = 128 * rng.randint(0, 8)
    which = tensor.rank + 8 * tensor.is_im2col
    expected = np.full(ROOM, 0xCD, np.uint8)
    reference.load(tensor, memory, expected, start, offsets, at)
    elements = list(reference.elements(tensor, start, offsets))
    room = np.zeros(ROOM, np.uint8)
    sizes = np.int32(which), np.int32(at), np.int32(len(elements) * min(unit, 16))
    record = kernels["load"][1, 64, ROOM](
        lanewise.TensorMap(array, **given), place(start, offsets), *sizes, np.int32(1), room.view(np.uint32)
    )
    assert (room == expected).all()
    copied = sum(source is not None for _, source in elements) * min(unit, 16)
    moved = [a for a in record.accesses if a.opcode.startswith("cp.async.bulk.tensor")]
    assert sum(a.sectors_ideal or 0 for a in moved) == -(-copied // 32)
    assert sum(a.sectors or 0 for a in moved) >= -(-copied // 32)

    if min(start) < 0 or min(tensor.lower, default=0) < 0 or max(tensor.upper, default=0) > 0:
        return  # not to be stored to
    given_back = noise(ROOM, seed + 1)
    target = memory.copy()
    reference.store(tensor, target, given_back, start, (0,) * len(offsets), at)
    written = array.copy()
    kernels["store"][1, 64, ROOM](
        lanewise.TensorMap(written, **given), place(start), np.int32(which), np.int32(at), given_back.view(np.uint32)
    )
    assert (written.reshape(-1).view(np.uint8) == target).all()


@pytest.mark.parametrize("number", range(len(REDUCTIONS)))
def test_reductions(kernels: lanewise.Module, number: int) -> None:
    rng = np.random.default_rng(number)
    before = rng.integers(0, 1 << 32, (8, 16), np.uint64).astype(np.uint32)
    room = rng.integers(0, 1 << 32, ROOM // 4, np.uint64).astype(np.uint32)
    after = before.copy()
    kernels["store"][1, 64, ROOM](
        lanewise.TensorMap(after, box=(16, 4)), place((0, 2)), np.int32(20 + number), np.int32(0), room
    )
    a, b = before[2:6], room[:64].reshape(4, 16)
    expected = {
        "add": a + b, "min": np.minimum(a, b), "max": np.maximum(a, b), "and": a & b, "or": a | b, "xor": a ^ b,
        "inc": np.where(a >= b, 0, a + 1), "dec": np.where((a == 0) | (a > b), b, a - 1),
    }[REDUCTIONS[number]]  # fmt: skip
    assert (after[2:6] == expected).all()
    assert (after[:2] == before[:2]).all()
    assert (after[6:] == before[6:]).all()


def test_reductions_of_floats(kernels: lanewise.Module) -> None:
    after = np.arange(64, dtype=np.float32).reshape(4, 16)
    room = np.full(ROOM // 4, 0.5, np.float32)
    kernels["store"][1, 64, ROOM](
        lanewise.TensorMap(after, box=(16, 4)), place((0, 0)), np.int32(20), np.int32(0), room.view(np.uint32)
    )
    assert (after == np.arange(64).reshape(4, 16) + 0.5).all()


@pytest.mark.parametrize("blocks", [0b0001, 0b1010, 0b1111])
def test_multicast(kernels: lanewise.Module, blocks: int) -> None:
    array = noise(64 * 64, 1).reshape(64, 64)
    out = np.zeros((4, 1024), np.uint8)
    kernels["multicast"][4, 32, 0, 4](lanewise.TensorMap(array, box=(64, 16)), np.uint16(blocks), out.view(np.uint32))
    for rank in range(4):
        expected = array[8:24].reshape(-1) if blocks >> rank & 1 else 0
        assert (out[rank] == expected).all()


def load_box(kernels: lanewise.Module, given: Any, start: tuple[int, ...] = (0, 0), **changes: int) -> reference.Bytes:
    """One load of a box of 64 x 16 bytes; `changes` of its arguments."""
    room = np.zeros(ROOM, np.uint8)
    arguments = {"which": 2, "at": 0, "bytes": 1024, "waits": 1} | changes
    numbers = [np.int32(arguments[name]) for name in ("which", "at", "bytes", "waits")]
    kernels["load"][1, 64, ROOM](given, place(start), *numbers, room.view(np.uint32))
    return room


ARRAY = noise(64 * 64, 3).reshape(64, 64)


def test_nothing_lands_before_it_is_waited_for(kernels: lanewise.Module) -> None:
    assert (load_box(kernels, lanewise.TensorMap(ARRAY, box=(64, 16)), waits=0) == 0xCD).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"at": 64}, "byte 1,088, is misaligned"),
        ({"at": ROOM - 512}, "goes beyond its end"),
        ({"which": 3}, "the tensor map has rank 2"),
        ({"which": 11}, "rank 2"),
        ({"bytes": 1040}, "16 of the bytes that it expects never come"),
        ({"bytes": 1008}, "16 bytes more have come"),
    ],
)
def test_faults(kernels: lanewise.Module, changes: dict[str, int], message: str) -> None:
    with pytest.raises(KernelFault) as raised:
        load_box(kernels, lanewise.TensorMap(ARRAY, box=(64, 16)), **changes)
    assert message in raised.value.finding.message


def test_coordinates_that_cannot_be(kernels: lanewise.Module) -> None:
    pixels = lanewise.TensorMap(ARRAY.reshape(4, 8, 8, 16), lower=(-1, -1), upper=(0, 0), channels=16, pixels=8)
    for given, start, which, message in (
        (lanewise.TensorMap(ARRAY, box=(64, 16)), (8, 0), 2, "the innermost coordinate of a box, 8, is misaligned"),
        (lanewise.TensorMap(ARRAY, box=(64, 16)), (-1, 0), 2, "coordinate of a box, -1, is misaligned"),
        (pixels, (0, -2, 0, 0), 12, "starts at coordinate -2, outside the box"),
        (pixels, (0, 0, 8, 0), 12, "starts at coordinate 8, outside the box"),
    ):
        with pytest.raises(KernelFault, match=message):
            load_box(kernels, given, start, which=which, bytes=128)
    room = np.zeros(ROOM // 4, np.uint32)
    given = lanewise.TensorMap(ARRAY.copy(), box=(64, 16))
    with pytest.raises(KernelFault, match="a store or reduction of a box starts at coordinate -1"):
        kernels["store"][1, 64, ROOM](given, place((0, -1)), np.int32(2), np.int32(0), room)


def test_a_map_that_was_written_over(kernels: lanewise.Module) -> None:
    good = lanewise.TensorMap(ARRAY, box=(64, 16)).encoded(1 << 40)
    for wrong in (bytes(128), good[:100] + b"\1" + good[101:]):
        with pytest.raises(KernelFault, match="is none") as raised:
            load_box(kernels, wrong)
        assert "cuTensorMapEncodeTiled" in (raised.value.finding.next_step or "")


def test_a_map_of_memory_that_is_not_there(kernels: lanewise.Module) -> None:
    good = lanewise.TensorMap(ARRAY, box=(64, 16)).encoded(1 << 40)
    with pytest.raises(KernelFault, match="out of bounds of the memory that the tensor map names"):
        load_box(kernels, good)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"box": (64, 257)}, "boxDim[1] = 257"),
        ({"box": (8, 4)}, "8 bytes is not a multiple of 16"),
        ({"box": (64, 4), "swizzle": 32}, "64 bytes > 32, the span of the swizzle"),
        ({"box": (64, 4), "steps": (1, 9)}, "elementStrides[1] = 9"),
        ({"box": (64, 4), "fill_nan": True}, "UINT8 is no type of floats"),
        ({"box": (64,)}, "box has 1 numbers where 2 are due"),
        ({"box": (64, 4), "swizzle": 16}, "no swizzle or interleave of 16 bytes"),
        ({"lower": (), "upper": (), "channels": 16, "pixels": 4}, "tensorRank = 2"),
    ],
)
def test_maps_that_break_a_rule(kernels: lanewise.Module, given: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError) as raised:
        load_box(kernels, lanewise.TensorMap(ARRAY, **given))
    assert reason in raised.value.message


def test_the_cache_model_sees_copies_of_boxes(kernels: lanewise.Module) -> None:
    array, given = np.zeros((256, 1024), np.uint8), np.zeros(ROOM // 4, np.uint32)
    tensor = lanewise.TensorMap(array, box=(256, 128))
    record = kernels["store"][1, 64, ROOM](tensor, place((256, 64)), np.int32(2), np.int32(0), given)
    assert record.launch.memory is not None
    assert record.launch.memory.l2_write_bytes == 256 * 128


# Width of the tensor of 64 rows of 16 bits and its pitch in bytes, box, start, and sectors read and written by an H200
# (`lts__t_sectors_srcunit_tex_op_read` and `_op_write`).
SECTORS = (
    (256, 512, (64, 16), (0, 0), 64), (256, 512, (64, 16), (8, 0), 80), (256, 512, (16, 16), (8, 0), 32),
    (256, 512, (8, 16), (8, 0), 16), (256, 512, (128, 32), (0, 0), 256), (8, 32, (8, 64), (0, 0), 64),
    (8, 16, (8, 64), (0, 0), 64), (24, 48, (24, 64), (0, 0), 128),
)  # fmt: skip


@pytest.mark.parametrize(("width", "pitch", "box", "start", "sectors"), SECTORS)
def test_sectors(
    kernels: lanewise.Module, width: int, pitch: int, box: tuple[int, int], start: tuple[int, int], sectors: int
) -> None:
    array = np.zeros((64, pitch // 2), np.uint16)
    tensor, room = lanewise.TensorMap(array[:, :width], box=box), np.zeros(ROOM // 4, np.uint32)
    sizes = np.int32(2), np.int32(0), np.int32(2 * box[0] * box[1])
    for record in (
        kernels["load"][1, 64, ROOM](tensor, place(start), *sizes, np.int32(1), room),
        kernels["store"][1, 64, ROOM](tensor, place(start), *sizes[:2], room),
    ):
        assert [a.sectors for a in record.accesses if a.opcode.startswith("cp.async.bulk.tensor")] == [sectors]


WARP_WIDE = """
struct __align__(64) Map { char bytes[128]; };
extern "C" __global__ void stores(const __grid_constant__ Map map, int step) {
  __shared__ __align__(128) unsigned char room[1024];
  unsigned s = (unsigned)__cvta_generic_to_shared(room);
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
    :: "l"(&map), "r"(0), "r"((int)threadIdx.x / 8 * step), "r"(s) : "memory");
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1, %2}];"
    :: "l"(&map), "r"(0), "r"((int)threadIdx.x / 8 * step) : "memory");
  asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
}
"""


@pytest.mark.parametrize(("step", "copies"), [(0, 1), (16, 25)])
def test_stores_of_all_lanes_are_counted_once(step: int, copies: int) -> None:
    # 8 lanes that store the first box make one copy; another box is a copy of each lane.
    array = np.zeros((64, 64), np.uint8)
    kernel = lanewise.compile(WARP_WIDE, arch="sm_90a")["stores"]
    record = kernel[1, 32](lanewise.TensorMap(array, box=(64, 16)), np.int32(step))
    moved = {a.kind: a.sectors for a in record.accesses if a.opcode.startswith("cp.async.bulk")}
    assert moved == {"store": 32 * copies, "load": 32 * copies}
