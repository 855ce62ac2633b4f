"""Bulk copies and reductions: what lands where and when, what it costs, and what must not be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import lanewise
from lanewise.emulator.bulk import REDUCTIONS
from lanewise.emulator.faults import plain_code
from lanewise.emulator.launch import FaultReport, Limits
from lanewise.emulator.layout import CopyFault, Fault, MbarrierFault
from lanewise.errors import KernelFault
from lanewise.hardware.copies import bulk_sectors
from lanewise.records import AccessKind, Space
from lanewise.request import RunRequest
from lanewise.session import run_program

LIMITS = Limits(seconds=30)
TRUTH = Path(__file__).parents[1] / "truth"
SOURCE = r"""
typedef unsigned long long u64;
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void make(u64* b, unsigned n) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at(b)), "r"(n)); }
__device__ void expect(u64* b, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at(b)), "r"(bytes) : "memory");
}
__device__ void wait(u64* b, unsigned parity) {
  asm volatile("{.reg .pred p;\n W: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n @!p bra W;}"
               ::"r"(at(b)), "r"(parity) : "memory");
}
__device__ void fetch(void* to, const void* from, int bytes, u64* b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               ::"r"(at(to)), "l"(from), "r"(bytes), "r"(at(b)) : "memory");
}
__device__ void put(void* to, const void* from, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
               ::"l"(to), "r"(at(from)), "r"(bytes) : "memory");
}
#define COMMIT asm volatile("cp.async.bulk.commit_group;" ::: "memory")
__global__ void pieces(int* out, const char* in, const int* table, int n, int total) {  // {to, from, bytes} a piece
  extern __shared__ __align__(128) char s[];
  __shared__ u64 b;
  int t = threadIdx.x;
  for (int i = t; i < 2048; i += 32) ((int*)s)[i] = -1;
  if (t == 0) make(&b, 1);
  __syncwarp();
  if (t < n) fetch(s + table[3 * t], in + table[3 * t + 1], table[3 * t + 2], &b);  // each lane its own
  if (t == 0) expect(&b, total);
  wait(&b, 0);
  for (int i = t; i < 2048; i += 32) out[i] = ((int*)s)[i];
}
__global__ void forgets(int* out, const int* in) {
  __shared__ __align__(16) int s[64];
  __shared__ u64 b;
  int t = threadIdx.x;
  s[t] = -5;
  if (t == 0) { make(&b, 1); expect(&b, 256); fetch(s, in, 256, &b); }
  __syncthreads();
  out[t] = s[t];
  __syncthreads();
  wait(&b, 0);
  out[64 + t] = s[t];
}
__global__ void ring(int* out, const int* in, int rounds) {  // three stages, filled by a thread, used by 64
  __shared__ __align__(128) int s[3][64];
  __shared__ u64 full[3], empty[3];
  int t = threadIdx.x;
  if (t == 0) for (int i = 0; i < 3; i++) { make(full + i, 1); make(empty + i, 64); }
  __syncthreads();
  if (t == 64) {
    for (int r = 0; r < rounds; r++) {
      wait(empty + r % 3, (r / 3 + 1) % 2);
      expect(full + r % 3, 256);
      fetch(s[r % 3], in + 64 * r, 256, full + r % 3);
    }
  } else if (t < 64) {
    for (int r = 0; r < rounds; r++) {
      wait(full + r % 3, r / 3 % 2);
      out[64 * r + t] = s[r % 3][63 - t];
      asm volatile("{.reg .b64 s; mbarrier.arrive.shared.b64 s, [%0];}" ::"r"(at(empty + r % 3)) : "memory");
    }
  }
}
__global__ void groups(int* out, int* seen) {  // what has come to global memory after each wait
  __shared__ __align__(128) int s[64];
  for (int i = 0; i < 64; i++) s[i] = i + 1;
  auto note = [&](int n) { for (int i = 0; i < 4; i++) seen[4 * n + i] = ((volatile int*)out)[16 * i]; };
  put(out, s, 64); COMMIT;
  put(out + 16, s + 16, 64); put(out + 32, s + 32, 64); COMMIT;
  put(out + 48, s + 48, 64);
  note(0);
  asm volatile("cp.async.bulk.wait_group 2;" ::: "memory"); note(1);
  asm volatile("cp.async.bulk.wait_group 1;" ::: "memory"); note(2);
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); note(3);  // the last one is in no group
}
__global__ void multicast(int* out, const int* in, int ranks) {
  __shared__ __align__(128) int s[64];
  __shared__ u64 b;
  int t = threadIdx.x;
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  s[t] = -1;
  if (t == 0) { make(&b, 1); if (ranks >> rank & 1) expect(&b, 256); }
  asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
  if (rank == 1 && t == 0)
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1], 256, [%2], %3;"
                 ::"r"(at(s)), "l"(in), "r"(at(&b)), "h"((short)ranks) : "memory");
  if (ranks >> rank & 1) wait(&b, 0);
  asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
  out[blockIdx.x * 64 + t] = s[t];
}
__global__ void across(int* out, int how) {  // each block sends 64 numbers to the next one's shared memory
  __shared__ __align__(128) int mine[64], its[64];
  __shared__ u64 b;
  int t = threadIdx.x;
  unsigned rank, to, word;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  mine[t] = 100 * rank + t;
  its[t] = 1000;
  if (t == 0) { make(&b, 1); expect(&b, 256); }
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(at(its)), "r"((rank + 1) % 4));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(word) : "r"(at(&b)), "r"((rank + 1) % 4));
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
  if (t == 0 && how == 0)
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                 ::"r"(to), "r"(at(mine)), "r"(word) : "memory");
  if (t == 0 && how == 1)
    asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.s32 "
                 "[%0], [%1], 256, [%2];"
                 ::"r"(to), "r"(at(mine)), "r"(word) : "memory");
  wait(&b, 0);
  out[blockIdx.x * 64 + t] = its[t];
  asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
}
__global__ void wrong(const char* in, char* out, int to, int from, int bytes, int expected) {
  extern __shared__ __align__(128) char s[];
  __shared__ u64 b;
  if (threadIdx.x == 0) {
    make(&b, 1);
    expect(&b, expected);
    if (to >= 0) fetch(s + to, in + from, bytes, &b); else put(out + from, s + ~to, bytes);
  }
  __syncthreads();
  if (to >= 0) wait(&b, 0);
}
"""


@pytest.fixture(scope="module")
def module() -> lanewise.Module:
    return lanewise.compile(SOURCE, limits=LIMITS)


def test_pieces_land_and_count(module: lanewise.Module) -> None:
    rng = np.random.default_rng(1)
    data = rng.integers(0, 256, 16384).astype(np.uint8)
    for n in (1, 5, 32):
        sizes = 16 * rng.integers(1, 16, n)
        places = np.cumsum(np.concatenate([[0], sizes[:-1] + 16 * rng.integers(0, 2, n - 1)]))
        sources = 16 * rng.integers(0, 900, n)
        table = np.stack([places, sources, sizes], axis=1).astype(np.int32)
        out = np.zeros(2048, np.int32)
        record = module["pieces"][1, 32, 8192](out, data, table, n, int(sizes.sum()))
        expected = np.full(8192, 255, np.uint8)
        for to, source, size in table.tolist():
            expected[to : to + size] = data[source : source + size]
        assert (out.view(np.uint8) == expected).all()
        [copy] = [a for a in record.accesses if "bulk" in a.opcode]
        assert (copy.space, copy.kind, copy.requests, copy.threads_on) == (Space.GLOBAL, AccessKind.LOAD, 1, n)
        assert copy.sectors == sum(bulk_sectors(source, 128 + to, size) for to, source, size in table.tolist())
        assert copy.sectors_ideal == int(-(-sizes // 32).sum())


def test_who_forgets_to_wait_reads_the_old_bytes(module: lanewise.Module) -> None:
    numbers, out = np.arange(64, dtype=np.int32), np.zeros(128, np.int32)
    module["forgets"][1, 64](out, numbers)
    assert (out[:64] == -5).all()
    assert (out[64:] == numbers).all()


def test_ring_of_stages(module: lanewise.Module) -> None:
    numbers, out = np.arange(64 * 20, dtype=np.int32), np.zeros(64 * 20, np.int32)
    module["ring"][2, 96](out, numbers, 20)
    assert (out.reshape(20, 64) == numbers.reshape(20, 64)[:, ::-1]).all()


def test_groups_of_stores(module: lanewise.Module) -> None:
    out, seen = np.zeros(64, np.int32), np.zeros(16, np.int32)
    record = module["groups"][1, 1](out, seen)
    assert seen.reshape(4, 4).tolist() == [[0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0], [1, 17, 33, 0]]
    assert out.tolist() == list(range(1, 65))  # what nobody waited for has come when the kernel ends
    stores = [a for a in record.accesses if "bulk" in a.opcode]
    assert [(a.kind, a.sectors) for a in stores] == [(AccessKind.STORE, 2)] * 4


@pytest.mark.parametrize("ranks", [0b1111, 0b0101, 0b0010])
def test_multicast(module: lanewise.Module, ranks: int) -> None:
    numbers, out = np.arange(64, dtype=np.int32), np.zeros(256, np.int32)
    record = module["multicast"][4, 64, 0, 4](out, numbers, ranks)
    for rank, row in enumerate(out.reshape(4, 64)):
        assert (row == (numbers if ranks >> rank & 1 else -1)).all()
    [copy] = [a for a in record.accesses if "bulk" in a.opcode]
    assert copy.sectors == 8  # read once, for whatever many blocks


@pytest.mark.parametrize("how", [0, 1])
def test_to_another_block(module: lanewise.Module, how: int) -> None:
    out = np.zeros(256, np.int32)
    module["across"][4, 64, 0, 4](out, how)
    expected = np.array([100 * ((rank - 1) % 4) + t for rank in range(4) for t in range(64)])
    assert (out == expected + 1000 * how).all()


# ---------------------------------------------------------------------- reductions
BYTES = 64
Bits = npt.NDArray[np.uint16]


def numbers_of(kind: str, raw: npt.NDArray[np.uint8]) -> npt.NDArray:
    """Bytes as numbers of a PTX type; a bf16 as the f32 that it is the upper half of."""
    if kind == "bf16":
        return (raw.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return raw.view(np.dtype(f"{'u' if kind[0] == 'b' else kind[0].replace('s', 'i')}{int(kind[1:]) // 8}"))


def as_bf16(values: npt.NDArray[np.float32]) -> Bits:
    """Rounded to the nearest, ties to even."""
    bits = values.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def reduced(operation: str, kind: str, old: npt.NDArray, new: npt.NDArray) -> npt.NDArray:
    match operation:
        case "and" | "or" | "xor":
            return getattr(np, f"bitwise_{operation}")(old, new)
        case "inc":
            return np.where(old >= new, 0, old + 1).astype(np.uint32)
        case "dec":
            return np.where((old == 0) | (old > new), new, old - 1).astype(np.uint32)
        case "min" | "max":
            return getattr(np, f"{operation}imum")(old, new)
        case _:
            return old + new


def plain(kind: str, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Random bytes that are ordinary numbers of a type, with some zeros, ones and extremes among the integers."""
    if "f" in kind:
        values = rng.normal(0, 100, BYTES // 2 if "16" in kind else BYTES // (int(kind[1:]) // 8))
        if kind == "bf16":
            return as_bf16(values.astype(np.float32)).view(np.uint8)
        return values.astype(f"f{int(kind[1:]) // 8}").view(np.uint8)
    words = rng.integers(0, 1 << 32, BYTES // 4, dtype=np.uint64).astype(np.uint32)
    words[:4] = 0, 1, 0xFFFFFFFF, 0x80000000
    rng.shuffle(words)
    return words.view(np.uint8)


def rounding(operation: str, kind: str) -> str:
    return ".noftz" if operation == "add" and kind in ("f16", "bf16") else ""


def test_every_reduction() -> None:
    rng = np.random.default_rng(7)
    old = [plain(kind, rng) for _, kind in REDUCTIONS]
    new = [plain(kind, rng) for _, kind in REDUCTIONS]
    lines = "".join(
        f" cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation}{rounding(operation, kind)}.{kind} "
        f"[%d1+{BYTES * n}], [room+{BYTES * n}], {BYTES};\n"
        for n, (operation, kind) in enumerate(REDUCTIONS)
    )
    text = f"""
.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 data) {{
 .reg .b64 %d<4>; .reg .b32 %r<8>; .reg .pred %p<4>;
 .shared .align 128 .b8 room[{BYTES * len(REDUCTIONS)}];
 ld.param.u64 %d1, [out];
 ld.param.u64 %d2, [data];
 mov.u32 %r1, room;
 mov.u32 %r2, 0;
AGAIN:
 ld.global.u32 %r3, [%d2];
 st.shared.u32 [%r1], %r3;
 add.u64 %d2, %d2, 4;
 add.u32 %r1, %r1, 4;
 add.u32 %r2, %r2, 4;
 setp.ne.u32 %p1, %r2, {BYTES * len(REDUCTIONS)};
 @%p1 bra AGAIN;
{lines} cp.async.bulk.commit_group;
 cp.async.bulk.wait_group 0;
 ret;
}}
"""
    out, data = np.concatenate(old), np.concatenate(new)
    record = lanewise.compile(text, limits=LIMITS)["k"][1, 1](out, data)
    for (operation, kind), before, change, after in zip(REDUCTIONS, old, new, out.reshape(-1, BYTES), strict=True):
        expected = reduced(operation, kind, numbers_of(kind, before), numbers_of(kind, change))
        bits = as_bf16(expected) if kind == "bf16" else expected
        assert (after == bits.view(np.uint8)).all(), (operation, kind)
    copies = [a for a in record.accesses if "reduce" in a.opcode]
    assert [(a.kind, a.sectors) for a in copies] == [(AccessKind.ATOMIC, BYTES // 32)] * len(REDUCTIONS)


def test_reductions_as_on_a_card(capfd: pytest.CaptureFixture[str]) -> None:
    """NaNs, infinities, subnormals and zeros among random words: what an H200 printed."""
    result = run_program(RunRequest(inputs=(TRUTH / "reductions.cu",), flags=("-O1", "-std=c++17")))
    assert result.exit_code == 0, result.findings
    printed = [line for line in capfd.readouterr().out.splitlines() if line.startswith("reduce")]
    assert printed == (TRUTH / "h200_reductions.txt").read_text().splitlines()


# ---------------------------------------------------------------------- what must not be
@pytest.mark.parametrize(
    ("to", "source", "size", "expected", "words"),
    [
        (0, 0, 100, 100, "a bulk copy of 100 bytes, which is not a multiple of 16"),
        (8, 0, 64, 64, "the address in shared memory, byte 136, is not a multiple of 16"),
        (0, 4, 64, 64, "the address in global memory, 0x"),
        (1024 - 32, 0, 64, 64, "out-of-bounds bulk copy of 64 bytes in shared memory"),
        (0, 4096 - 32, 64, 64, "out-of-bounds bulk copy of 64 bytes in global memory"),
        (~0, 4096 - 32, 64, 64, "out-of-bounds bulk copy of 64 bytes in global memory"),
        (~8, 0, 64, 64, "the address in shared memory, byte 136, is not a multiple of 16"),
        (~0, 0, 60, 64, "a bulk copy of 60 bytes, which is not a multiple of 16"),
        (0, 0, 64, 80, "16 of the bytes that it expects never come"),
        (0, 0, 64, 48, "16 bytes more have come than it was told to expect"),
    ],
)
def test_faults(module: lanewise.Module, to: int, source: int, size: int, expected: int, words: str) -> None:
    with pytest.raises(KernelFault) as caught:
        module["wrong"][1, 32, 1024 - 128](
            np.zeros(4096, np.uint8), np.zeros(4096, np.uint8), to, source, size, expected
        )
    finding = caught.value.finding
    assert finding is not None
    assert words in finding.message
    assert finding.next_step
    if "global memory" in words and "out-of-bounds" in words:  # 64 bytes, of which the first 32 are within
        assert any("indices 254 to 257; valid are 0 to 255" in line for line in caught.value.finding.evidence)


@pytest.mark.parametrize(
    ("code", "kind", "plain"),
    [
        (Fault.COPY, CopyFault.BULK_GLOBAL_ALIGNMENT, Fault.MISALIGNED),
        (Fault.COPY, CopyFault.BULK_SHARED_ALIGNMENT, Fault.MISALIGNED),
        (Fault.COPY, CopyFault.BULK_GLOBAL_BOUNDS, Fault.BOUNDS),
        (Fault.COPY, CopyFault.BULK_SIZE, Fault.COPY),
        (Fault.MBARRIER, MbarrierFault.MISALIGNED, Fault.MISALIGNED),
        (Fault.MBARRIER, MbarrierFault.COUNT, Fault.MBARRIER),
    ],
)
def test_what_a_runtime_call_tells(code: int, kind: int, plain: int) -> None:
    """As an H200: misaligned address, illegal address."""
    size = kind if code == Fault.MBARRIER else 64 << 8 | kind
    assert plain_code(FaultReport(code, 0, 1, (0,) * 32, size, (0, 0, 0), 0)) == plain
