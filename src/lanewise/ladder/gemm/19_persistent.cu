// Rung 19: blocks that stay, in pairs that share what they read.
//
// Changed: the grid is what the card holds at once; a block takes one tile of C after the other. The producer runs ahead
// into the next tile while the consumers write the last one: the pipeline never drains between tiles.
//
// Changed: two blocks are a *cluster* (compute capability 9.0): they run at the same time on neighbouring
// multiprocessors and see each other's shared memory. They work on tiles below each other and so need the same
// columns of B: each fetches half of B's tile and the engine delivers it to both (*multicast*). 32 KiB a stage and block
// instead of 48 come out of the L2 cache. A place of the ring is free when the consumers of both blocks have left it,
// so a consumer tells both producers.
//
// Changed: C leaves through shared memory. A fragment goes there by stmatrix, in the swizzled order that the engine
// expects, and the engine writes 64 x 64 elements at a time while the next are packed.
// Changed: pairs of tiles go through BAND rows of pairs column by column, so that what is read at a time fits the L2.
// The engine takes rows of multiples of 16 bytes. For others (the next rung) `set_rows` copies A and B into rows that are, with
// zeros at their ends, and C out of such rows: 8 bytes an element of each, beside 2 m n k operations.
//
// A block's tile is 64 x BN for each of its CONSUMERS (warpgroups that multiply). 128 x 256 needs the least traffic; a
// small matrix has too few such tiles for all multiprocessors and takes 64 x 128 (the rung after the next).
constexpr int BM = 64 * CONSUMERS, BK = 64;                   // a block's tile; BK elements are 128 bytes, a swizzled row
constexpr int BYTES_A = BM * BK * 2, BYTES_B = BN * BK * 2, STAGE = BYTES_A + BYTES_B;
constexpr int PIECE = 64 * 64 * 2, SUMS = BN / 2;             // bytes of a piece of C; sums of a thread
constexpr int RING = STAGES * STAGE;

struct alignas(64) TensorMap {
    unsigned char opaque[128];
};

__device__ unsigned int shared_address(const void* pointer) { return (unsigned int)__cvta_generic_to_shared(pointer); }

__device__ void init(unsigned int barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

__device__ void wait(unsigned int barrier, unsigned int parity) {
    asm volatile(
        "{\n .reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        " @!done bra again;\n}" ::"r"(barrier),
        "r"(parity)
        : "memory");
}

__device__ void expect(unsigned int barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Arrives at the barrier that lies at the same place in block `rank` of the cluster. The one who arrives has only read: with
// .release.cluster each arrival would wait for a fence of the whole card, between two steps of the multiplication.
__device__ void arrive_at(unsigned int barrier, int rank) {
    asm volatile(
        "{\n .reg .b32 there;\n"
        "mapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(barrier),
        "r"(rank)
        : "memory");
}

__device__ void fetch(unsigned int target, const TensorMap* map, int x, int y, unsigned int barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            target),
        "l"(map), "r"(x), "r"(y), "r"(barrier)
        : "memory");
}

__device__ void fetch_for_both(unsigned int target, const TensorMap* map, int x, int y, unsigned int barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
        " [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(target),
        "l"(map), "r"(x), "r"(y), "r"(barrier), "h"((unsigned short)3)
        : "memory");
}

// How wgmma finds a matrix in shared memory: address, distances between 8-row groups, 128-byte swizzle (PTX ISA,
// "Matrix descriptor"; addresses and distances in units of 16 bytes).
__device__ unsigned long long descriptor(unsigned int address, int leading, int stride) {
    return (unsigned long long)(address >> 4 & 0x3fff) | (unsigned long long)(leading >> 4) << 16 |
           (unsigned long long)(stride >> 4) << 32 | 1ull << 62;
}

#define EIGHT(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])

#if F16
#define TYPES "f16.f16"
#else
#define TYPES "bf16.bf16"
#endif

// sum (64 x BN) = A (64 x 16) B (16 x BN) + (first ? 0 : sum), queued.
__device__ void multiply(float (&d)[SUMS], unsigned long long a, unsigned long long b, bool first) {
#if BN == 256
    asm volatile(
        "{\n.reg .pred add;\nsetp.eq.b32 add, %130, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32." TYPES " {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
        "}, %128, %129, add, 1, 1, %131, %132;\n}"
        : EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24), EIGHT(32), EIGHT(40), EIGHT(48), EIGHT(56), EIGHT(64), EIGHT(72),
          EIGHT(80), EIGHT(88), EIGHT(96), EIGHT(104), EIGHT(112), EIGHT(120)
        : "l"(a), "l"(b), "r"((int)first), "n"(A_COLUMNS), "n"(1 - B_COLUMNS));
#else
    static_assert(BN == 128);
    asm volatile(
        "{\n.reg .pred add;\nsetp.eq.b32 add, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPES " {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
        "}, %64, %65, add, 1, 1, %67, %68;\n}"
        : EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24), EIGHT(32), EIGHT(40), EIGHT(48), EIGHT(56)
        : "l"(a), "l"(b), "r"((int)first), "n"(A_COLUMNS), "n"(1 - B_COLUMNS));
#endif
}

__device__ unsigned int pack(float low, float high) {
    unsigned int both;
#if F16
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
#else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
#endif
    return both;
}

// The tiles of a pair of blocks: pair row and column of item `item`.
struct Place {
    int row, column;
};
__device__ Place place_of(int item, int pair_rows, int columns) {
    int in_band = BAND * columns, band = item / in_band * BAND, rows = min(BAND, pair_rows - band);
    return {band + item % in_band % rows, item % in_band / rows};
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128 * (CONSUMERS + 1), 1)
gemm(const __grid_constant__ TensorMap map_c, const __grid_constant__ TensorMap map_a,
     const __grid_constant__ TensorMap map_b, int m, int n, int k) {
    extern __shared__ __align__(1024) unsigned char memory[];   // ring, pieces of C, barriers
    __shared__ unsigned long long barriers[2 * STAGES];
    unsigned int ring = shared_address(memory), out = ring + RING;
    unsigned int arrived = shared_address(barriers), left = arrived + STAGES * 8;
    int warpgroup = threadIdx.x / 128, t = threadIdx.x % 128, rank = blockIdx.x % 2;
    int pair_rows = (m + 2 * BM - 1) / (2 * BM), columns = (n + BN - 1) / BN, items = pair_rows * columns;
    int steps = (k + BK - 1) / BK;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            init(arrived + 8 * s, 1);
            init(left + 8 * s, 2 * CONSUMERS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");

    int stage = 0;
    unsigned int parity = 0;
    if (warpgroup == CONSUMERS) {   // the producer: one thread; its warpgroup gives registers away
        if (CONSUMERS == 2) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (t == 0) {
            for (int item = blockIdx.x / 2; item < items; item += gridDim.x / 2) {
                Place place = place_of(item, pair_rows, columns);
                int row = (place.row * 2 + rank) * BM, column = place.column * BN;
                for (int step = 0; step < steps; step++) {
                    unsigned int to_a = ring + stage * STAGE, to_b = to_a + BYTES_A, full = arrived + 8 * stage;
                    wait(left + 8 * stage, parity ^ 1);
                    expect(full, STAGE);
                    if (A_COLUMNS) {
                        for (int i = 0; i < CONSUMERS; i++) fetch(to_a + i * 8192, &map_a, row + i * 64, step * BK, full);
                    } else {
                        fetch(to_a, &map_a, step * BK, row, full);
                    }
                    unsigned int half = to_b + rank * (BYTES_B / 2);
                    int first = column + rank * (BN / 2);
                    if (B_COLUMNS) {
                        fetch_for_both(half, &map_b, step * BK, first, full);
                    } else {
                        for (int i = 0; i < BN / 128; i++)
                            fetch_for_both(half + i * 8192, &map_b, first + i * 64, step * BK, full);
                    }
                    if (++stage == STAGES) stage = 0, parity ^= 1;
                }
            }
        }
    } else {
        if (CONSUMERS == 2) asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        float sum[SUMS];
        unsigned int mine = out + warpgroup * 2 * PIECE;
        // Where this lane's row of an 8 x 8 matrix goes within a piece of C: row, and which of two neighbours.
        int warp = t / 32, lane = t % 32, to_row = warp * 16 + (lane & 8) + lane % 8, to_side = lane / 16;
        for (int item = blockIdx.x / 2; item < items; item += gridDim.x / 2) {
            Place place = place_of(item, pair_rows, columns);
            int row = (place.row * 2 + rank) * BM + warpgroup * 64, column = place.column * BN;
            int before = 0;
            for (int step = 0; step < steps; step++) {
                unsigned int at_a = ring + stage * STAGE + warpgroup * 8192, at_b = ring + stage * STAGE + BYTES_A;
                wait(arrived + 8 * stage, parity);
                asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
                for (int i = 0; i < BK / 16; i++)
                    multiply(sum, descriptor(at_a + i * (A_COLUMNS ? 2048 : 32), 8192, 1024),
                             descriptor(at_b + i * (B_COLUMNS ? 32 : 2048), 8192, 1024), step == 0 && i == 0);
                asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
                asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");   // the step before has been read
                if (step > 0 && t < 2) arrive_at(left + 8 * before, t);
                before = stage;
                if (++stage == STAGES) stage = 0, parity ^= 1;
            }
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
            if (t < 2) arrive_at(left + 8 * before, t);
#pragma unroll
            for (int piece = 0; piece < BN / 64; piece++) {
                unsigned int buffer = mine + piece % 2 * PIECE;
                // The engine has read what this buffer held before; then all may write.
                if (t == 0) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
                asm volatile("bar.sync %0, 128;" ::"r"(1 + warpgroup) : "memory");
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    const float* d = sum + piece * 32 + j * 8;
                    unsigned int to = buffer + to_row * 128 + (((j * 2 + to_side) ^ (to_row & 7)) << 4);
                    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
                                 "r"(pack(d[0], d[1])), "r"(pack(d[2], d[3])), "r"(pack(d[4], d[5])),
                                 "r"(pack(d[6], d[7]))
                                 : "memory");
                }
                asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
                asm volatile("bar.sync %0, 128;" ::"r"(1 + warpgroup) : "memory");
                if (t == 0) {
                    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(
                                     &map_c),
                                 "r"(column + piece * 64), "r"(row), "r"(buffer)
                                 : "memory");
                    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
                }
            }
        }
        if (t == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
    // A block's memory must be there until its neighbour has sent and said everything.
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// Rows of `from_pitch` elements into rows of `to_pitch`, a block a row; what a row of `from` does not have is zero.
extern "C" __global__ void __launch_bounds__(256)
set_rows(unsigned short* __restrict__ to, const unsigned short* __restrict__ from, int to_pitch, int from_pitch) {
    const unsigned short* row = from + size_t(blockIdx.x) * from_pitch;
    for (int x = threadIdx.x; x < to_pitch; x += 256)
        to[size_t(blockIdx.x) * to_pitch + x] = x < from_pitch ? row[x] : 0;
}
