"""Hand-made results for the report tests: small kernels whose counts can be worked out on paper."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath

from lanewise.records import (
    Access,
    AccessKind,
    Finding,
    KernelResources,
    LaunchRecord,
    LineCounts,
    Occupancy,
    OccupancyLimit,
    Pattern,
    RunResult,
    Severity,
    SourceLine,
    Space,
    Unsupported,
)

TRANSPOSE = """\
#include <cstdio>
__global__ void transpose_naive(const float* in, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) out[x * h + y] = in[y * w + x];
}
__global__ void transpose_shared(const float* in, float* out, int w, int h) {
  __shared__ float t[32][32];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  t[threadIdx.y][threadIdx.x] = in[y * w + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  out[y * h + x] = t[threadIdx.x][threadIdx.y];
}
__global__ void transpose_padded(const float* in, float* out, int w, int h) {
  __shared__ float t[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  t[threadIdx.y][threadIdx.x] = in[y * w + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  out[y * h + x] = t[threadIdx.x][threadIdx.y];
}
"""

MIXED = """\
#include <cooperative_groups.h>
__device__ float pick(const float* p, int i) {
    return p[i];
}
__global__ void gemm_naive(const float* A, const float* B, float* C, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0.0f;
    for (int k = 0; k < n; k++) s += A[row * n + k] * B[k * n + col];
    C[row * n + col] = s;
}
template <typename T, int kBins>
__global__ void histogram(const T* data, unsigned* bins, int n) {
    __shared__ unsigned local[kBins];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        if (data[i] & 1) atomicAdd(&local[data[i] % kBins], 1u);  // a comment that makes this line a rather long one, on purpose, for narrow terminals
    }
    float x = pick(reinterpret_cast<const float*>(data), 2 * threadIdx.x);
    if (threadIdx.x == 0) atomicAdd(&bins[0], unsigned(x));
}
__global__ void banks(float* out) {
\t__shared__ float shm[128];
\tout[threadIdx.x] = shm[4 * threadIdx.x];
}
__global__ void vectors(float4* out) {
    __shared__ float4 quads[32];
    out[threadIdx.x] = quads[threadIdx.x];
}
__global__ void empty() {}
__global__ void shifted(const float* in, float* out) {
    out[threadIdx.x] = in[threadIdx.x + 1] + in[31 - threadIdx.x] + in[-4 * int(threadIdx.x)];
}
"""  # noqa: E501

PROGRAM = "/home/me/cuda/transpose.cu"
MIXED_FILE = "/home/me/cuda/mixed.cu"
ATOMIC_HEADER = "/opt/cuda/include/device_atomic_functions.hpp"


def occupancy(active_blocks: int, block_warps: int, *binding: str, next_step: str | None = None) -> Occupancy:
    limits = (OccupancyLimit("warps", 64 // block_warps), OccupancyLimit("blocks", 32))
    return Occupancy(active_blocks, active_blocks * block_warps, 64, limits, binding, next_step)


def access(
    file: str | None,
    line: int | None,
    opcode: str,
    array: str | None,
    requests: int,
    per_request: float,
    ideal: float,
    pattern: Pattern | None,
    *,
    stride: int | None = None,
    lanes: float = 32,
    ptx_line: int = 0,
    width: int = 32,
    inlined_at: SourceLine | None = None,
    space: Space | None = None,
) -> Access:
    """One access; `per_request` and `ideal` are sectors, or wavefronts where the opcode names shared memory."""
    where = space or next(s for s in Space if f".{s.value}" in opcode)
    verb = opcode.split(".")[0]
    kinds = {"ld": AccessKind.LOAD, "st": AccessKind.STORE}
    counted, least = round(per_request * requests), round(ideal * requests)
    sectors = where in (Space.GLOBAL, Space.LOCAL)
    wavefronts = where is Space.SHARED
    return Access(
        basis="ptx",
        file=file,
        line=line,
        inlined_at=inlined_at,
        ptx_line=ptx_line or (line or 0) + 40,
        opcode=opcode,
        space=where,
        kind=kinds.get(verb, AccessKind.ATOMIC),
        width_bits=width,
        requests=requests,
        threads=round(requests * lanes),
        threads_on=round(requests * lanes),
        sectors=counted if sectors else None,
        sectors_ideal=least if sectors else None,
        wavefronts=counted if wavefronts else None,
        wavefronts_ideal=least if wavefronts else None,
        pattern=pattern,
        stride_bytes=stride,
        array=array,
    )


def launch(
    id: int,
    kernel: str,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    accesses: tuple[Access, ...] = (),
    *,
    static_shared: int = 0,
    dynamic_shared: int = 0,
    registers: int = 16,
    lines: tuple[LineCounts, ...] = (),
    instructions: int = 0,
    lanes: float = 32,
    **more: object,
) -> LaunchRecord:
    warps = -(-block[0] * block[1] * block[2] // 32)
    record = LaunchRecord(
        id=id,
        kernel=kernel,
        symbol="_Z" + kernel.split("(")[0].replace(" ", "_"),
        grid=grid,
        block=block,
        dynamic_shared_bytes=dynamic_shared,
        resources=KernelResources(registers, static_shared, 0),
        occupancy=occupancy(64 // warps if warps > 1 else 32, warps, "warps" if warps > 1 else "blocks"),
        device="h200",
        stream=0,
        ptx_instructions=instructions,
        ptx_thread_instructions=round(instructions * lanes),
        accesses=accesses,
        lines=lines,
    )
    return replace(record, **more)  # type: ignore[arg-type]


def result(launches: tuple[LaunchRecord, ...], *, program: str = PROGRAM, **more: object) -> RunResult:
    plain = RunResult(
        program=str(PurePosixPath(program)),
        device="h200",
        arch="sm_90",
        exit_code=0,
        launches=launches,
        sources={PROGRAM: TRANSPOSE, MIXED_FILE: MIXED},
    )
    return replace(plain, **more)  # type: ignore[arg-type]


def transposes() -> RunResult:
    """The three transposes of 2048 x 2048: a strided store, a 32-way conflict, and one with nothing to gain."""
    grid, block, requests = (64, 64, 1), (32, 32, 1), 131_072
    contiguous = Pattern.CONTIGUOUS
    naive = (
        access(PROGRAM, 4, "ld.global.nc.f32", "in", requests, 4, 4, contiguous, ptx_line=52),
        access(PROGRAM, 4, "st.global.f32", "out", requests, 32, 4, Pattern.STRIDED, stride=8192, ptx_line=56),
    )

    def tiled(first: int, ways: int, stride: int) -> tuple[Access, ...]:
        pattern = Pattern.STRIDED
        return (
            access(PROGRAM, first + 8, "ld.global.nc.f32", "in", requests, 4, 4, contiguous),
            access(PROGRAM, first + 8, "st.shared.f32", "t", requests, 1, 1, contiguous),
            access(PROGRAM, first + 11, "ld.shared.f32", "t", requests, ways, 1, pattern, stride=stride),
            access(PROGRAM, first + 11, "st.global.f32", "out", requests, 4, 4, contiguous),
        )

    signature = "(float const*, float*, int, int)"
    return result(
        (
            launch(0, "transpose_naive" + signature, grid, block, naive, instructions=3_014_656),
            launch(
                1,
                "transpose_shared" + signature,
                grid,
                block,
                tiled(1, 32, 128),
                static_shared=4096,
                instructions=4_456_448,
            ),
            launch(
                2,
                "transpose_padded" + signature,
                grid,
                block,
                tiled(9, 1, 132),
                static_shared=4224,
                instructions=4_456_448,
            ),
        ),
        notes=("ran on the CPU: no GPU found",),
    )


def gemm(id: int = 0) -> LaunchRecord:
    """A[row*n+k] is 1 sector, B[k*n+col] 4, unrolled four times; n = 256 in blocks of 32 x 8."""
    warps, n = 2048, 256
    loads = []
    for copy in range(4):
        loads.append(
            access(
                MIXED_FILE, 8, "ld.global.nc.f32", "A", warps * n // 4, 1, 1, Pattern.BROADCAST, ptx_line=60 + 2 * copy
            )
        )
        loads.append(
            access(
                MIXED_FILE, 8, "ld.global.nc.f32", "B", warps * n // 4, 4, 4, Pattern.CONTIGUOUS, ptx_line=61 + 2 * copy
            )
        )
    store = access(MIXED_FILE, 9, "st.global.f32", "C", warps, 4, 4, Pattern.CONTIGUOUS, ptx_line=80)
    lines = (
        LineCounts(MIXED_FILE, 6, warps * 9, warps * 9 * 32),
        LineCounts(MIXED_FILE, 8, warps * n * 4, warps * n * 4 * 32, branches=warps * n // 4),
        LineCounts(MIXED_FILE, 9, warps * 5, warps * 5 * 32),
    )
    return launch(
        id, "gemm_naive(float const*, float const*, float*, int)", (8, 32, 1), (32, 8, 1), (*loads, store),
        registers=40, instructions=warps * (n * 4 + 14), lines=lines,
        occupancy=occupancy(6, 8, "registers", next_step="8 registers fewer a thread would fit 8 blocks"),
    )  # fmt: skip


def histogram(id: int, *, scale: int = 1) -> LaunchRecord:
    """Shared atomics from a header, a helper of the user's own file, one lane of 32, a divergent branch, spills."""
    call = SourceLine(MIXED_FILE, 15, function="histogram")
    helper = SourceLine(MIXED_FILE, 17, function="histogram")
    last = SourceLine(MIXED_FILE, 18, function="histogram")
    n = 4096 * scale
    accesses = (
        access(MIXED_FILE, 15, "ld.global.nc.u32", "data", n, 4, 4, Pattern.CONTIGUOUS, ptx_line=90),
        access(
            ATOMIC_HEADER, 82, "atom.shared.add.u32", "local", n, 3.4, 1, Pattern.SCATTERED,
            lanes=16.25, ptx_line=97, inlined_at=call,
        ),
        access(
            MIXED_FILE, 3, "ld.global.nc.f32", "data", 64, 8, 4, Pattern.STRIDED,
            stride=8, ptx_line=110, inlined_at=helper,
        ),
        access(
            ATOMIC_HEADER, 82, "red.global.add.u32", "bins", 64, 1, 1, Pattern.BROADCAST,
            lanes=1, ptx_line=120, inlined_at=last,
        ),
        access(None, None, "st.local.b32", None, 64, 4, 4, Pattern.CONTIGUOUS, ptx_line=125),
    )  # fmt: skip
    lines = (
        LineCounts(MIXED_FILE, 14, 9 * n, 9 * n * 32, branches=n + 64),
        LineCounts(MIXED_FILE, 15, 12 * n, 12 * n * 20, branches=n, divergent_branches=n - 17),
        LineCounts(MIXED_FILE, 18, 256, 200, branches=64, divergent_branches=8),
    )
    return launch(
        id, "void histogram<unsigned int, 256>(unsigned int const*, unsigned int*, int)", (8, 1, 1), (256, 1, 1),
        accesses, instructions=21 * n + 256, lanes=25.1, lines=lines, static_shared=1024, dynamic_shared=2048,
        resources=KernelResources(255, 1024, 64, spill_store_bytes=16, spill_load_bytes=32),
        occupancy=occupancy(1, 8, "registers"),
    )  # fmt: skip


def mixed() -> RunResult:
    """Folds alike and unlike, unrolling, headers, helpers, PTX without lines, bank arithmetic, vectors, no memory."""
    banks = (
        access(MIXED_FILE, 22, "ld.shared.f32", "shm", 2, 4, 1, Pattern.STRIDED, stride=16),
        access(MIXED_FILE, 22, "st.global.f32", "out", 2, 4, 4, Pattern.CONTIGUOUS),
    )
    vectors = (
        access(MIXED_FILE, 26, "ld.shared.v4.f32", "quads", 1, 4, 4, Pattern.CONTIGUOUS, width=128),
        access(MIXED_FILE, 26, "st.global.v4.b32", "out", 1, 16, 16, Pattern.CONTIGUOUS, width=128),
    )
    shifted = (
        access(MIXED_FILE, 30, "ld.global.nc.f32", "in", 1, 5, 4, Pattern.CONTIGUOUS, ptx_line=200),
        access(MIXED_FILE, 30, "ld.global.nc.f32", "in", 1, 4, 4, Pattern.CONTIGUOUS, stride=-4, ptx_line=203),
        access(MIXED_FILE, 30, "ld.global.nc.f32", "in", 1, 16, 4, Pattern.STRIDED, stride=-16, ptx_line=206),
        access(MIXED_FILE, 30, "st.global.f32", "out", 1, 4, 4, Pattern.CONTIGUOUS, ptx_line=209),
    )
    return result(
        (
            *(gemm(i) for i in range(12)),
            histogram(12),
            histogram(13, scale=2),
            launch(14, "banks(float*)", (2, 1, 1), (32, 1, 1), banks, instructions=24),
            launch(15, "vectors(float4*)", (1, 1, 1), (32, 1, 1), vectors, instructions=12),
            launch(17, "shifted(float const*, float*)", (1, 1, 1), (32, 1, 1), shifted, instructions=16),
            launch(16, "empty()", (1, 1, 1), (1, 1, 1), instructions=1, lanes=1),
        ),
        program=MIXED_FILE,
        notes=("cudaEventElapsedTime returned a deterministic count, not a time",),
    )


FAULT = Finding(
    check="bounds",
    severity=Severity.ERROR,
    message="out-of-bounds store of 4 bytes past the end of 'out'",
    kernel="transpose_naive(float const*, float*, int, int)",
    source=SourceLine(PROGRAM, 4, 22),
    ptx_line=56,
    thread=(31, 0, 0),
    block=(63, 1, 0),
    evidence=(
        "'out' has 16,777,216 bytes at 0x7e0000000, made at /home/me/cuda/transpose.cu:40; "
        "the store went to byte 16,777,216, its first byte past the end.",
        "Lanes 31 of warp 3: index 4,194,304 of 4,194,304 elements.",
    ),
    next_step="Compare x and y with the width and height the array was allocated for.",
)  # fmt: skip


def faulted() -> RunResult:
    """A launch that ended early with a fault, a finding of the whole run, and a program that saw the error."""
    naive = transposes().launches[0]
    broken = replace(naive, completed=False, findings=(FAULT,), ptx_instructions=1800, ptx_thread_instructions=57_000)
    leak = Finding("leak", Severity.WARNING, "3 allocations (12 MB) were never freed", evidence=("Made in main().",))
    return result((broken,), exit_code=1, findings=(FAULT, leak), notes=("ran on the CPU: no GPU found",))


def unsupported() -> RunResult:
    """A program that could not run at all: everything that is unsupported, at once."""
    reason = "textures are not supported in this version"
    tensor = "tensor-core instructions are not supported in this version"
    header = SourceLine("/opt/cuda/include/mma.h", 91, inlined_at=SourceLine(MIXED_FILE, 8))
    return result(
        (),
        program=MIXED_FILE,
        exit_code=None,
        unsupported=(
            Unsupported("tex.2d.v4.f32.s32", reason, "blur(unsigned long long, float*)", 41, SourceLine(MIXED_FILE, 9)),
            Unsupported(
                "tex.2d.v4.f32.s32", reason, "blur(unsigned long long, float*)", 57, SourceLine(MIXED_FILE, 18)
            ),
            Unsupported("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", tensor, "gemm(half const*)", 203, header),
            Unsupported("cudaCreateTextureObject", reason, None, None, None),
        ),
    )


def hostile() -> RunResult:
    """Names and sources that try to steer the terminal, to be read as markup, or to burst the columns."""
    name = "void cub::detail::reduce<" + "cub::Policy<int, (cub::Mode)1, " * 6 + "float" + ">" * 7 + "(float*)"
    line = "\tout[i] = in[i]; // \x1b[2J\x07 [bold red]not markup[/] \u6f22\u5b57 " + "wide " * 60
    array = "a_name_of_an_array_that_goes_on_and_on_and_on"
    accesses = (
        access("evil.cu", 1, "ld.global.f32", array, 10**15, 32, 4, Pattern.STRIDED, stride=2**40),
        access("evil.cu", 2, "st.global.b32", None, 7, 3.99999, 1, None),
        access("gone.cu", 12345, "ld.const.b32", None, 3, 0, 0, Pattern.SCATTERED, space=Space.CONST),
        access("gone.cu", 12346, "st.global.b32", None, 0, 0, 0, None),
    )
    return result(
        (launch(0, name, (2**31 - 1, 65535, 65535), (1024, 1, 1), accesses, instructions=10**16),),
        sources={"evil.cu": line},
        exit_code=-11,
        notes=("a note with \x1b]0;title\x07 inside",),
    )


ALL = {"transposes": transposes, "mixed": mixed, "faulted": faulted, "unsupported": unsupported, "hostile": hostile}
