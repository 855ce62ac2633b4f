// Rung 18: one warpgroup fetches, the others multiply.
//
// Changed: producer and consumers. One thread of a warpgroup of its own (the producer) keeps the copy engine busy; two
// warpgroups (the consumers) multiply. Nobody meets at a barrier of the whole block: each stage has two mbarriers, `arrived` (its bytes are there) and
// `left` (both consumers have read it). A consumer queues a step's multiplications before it waits for those of the step
// before: the matrix unit never idles between steps.
//
// Changed: setmaxnreg moves registers from the producer, which needs few, to the consumers, which hold 128 sums a thread.
constexpr int BM = 128, BN = 256, BK = 64;                    // a block's tile; BK elements are 128 bytes, a swizzled row
constexpr int BYTES_A = BM * BK * 2, BYTES_B = BN * BK * 2, STAGE = BYTES_A + BYTES_B;
constexpr int CONSUMERS = 2;                                  // warpgroups that multiply

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

__device__ void arrive(unsigned int barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ void fetch(unsigned int target, const TensorMap* map, int x, int y, unsigned int barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            target),
        "l"(map), "r"(x), "r"(y), "r"(barrier)
        : "memory");
}

// How wgmma finds a matrix in shared memory: address, distances between 8-row groups, 128-byte swizzle (PTX ISA,
// "Matrix descriptor"; addresses and distances in units of 16 bytes).
__device__ unsigned long long descriptor(unsigned int address, int leading, int stride) {
    return (unsigned long long)(address >> 4 & 0x3fff) | (unsigned long long)(leading >> 4) << 16 |
           (unsigned long long)(stride >> 4) << 32 | 1ull << 62;
}

#define EIGHT(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])

// sum (64 x 256) = A (64 x 16) B (16 x 256) + (first ? 0 : sum), queued.
__device__ void multiply(float (&d)[128], unsigned long long a, unsigned long long b, bool first) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.eq.b32 add, %130, 0;\n"
#if F16
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
#else
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
#endif
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

__device__ void fetch_step(unsigned int to_a, unsigned int full, const TensorMap* map_a, const TensorMap* map_b, int row,
                           int column, int depth) {
    unsigned int to_b = to_a + BYTES_A;
    expect(full, STAGE);
    if (A_COLUMNS) {
        for (int i = 0; i < BM / 64; i++) fetch(to_a + i * 8192, map_a, row + i * 64, depth, full);
    } else {
        fetch(to_a, map_a, depth, row, full);
    }
    if (B_COLUMNS) {
        for (int i = 0; i < 2; i++) fetch(to_b + i * (BYTES_B / 2), map_b, depth, column + i * (BN / 2), full);
    } else {
        for (int i = 0; i < BN / 64; i++) fetch(to_b + i * 8192, map_b, column + i * 64, depth, full);
    }
}

extern "C" __global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
gemm(unsigned short* __restrict__ c, const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b, int m,
     int n, int k) {
    extern __shared__ __align__(1024) unsigned char memory[];   // [STAGES][A, B]
    __shared__ unsigned long long barriers[2 * STAGES];
    unsigned int ring = shared_address(memory), arrived = shared_address(barriers), left = arrived + STAGES * 8;
    int warpgroup = threadIdx.x / 128, t = threadIdx.x % 128;
    int first_row = blockIdx.y * BM, first_column = blockIdx.x * BN, steps = (k + BK - 1) / BK;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            init(arrived + 8 * s, 1);
            init(left + 8 * s, CONSUMERS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (warpgroup == CONSUMERS) {   // the producer: one thread; its warpgroup gives registers away
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (t == 0) {
            for (int step = 0; step < steps; step++) {
                int stage = step % STAGES;
                wait(left + 8 * stage, step / STAGES % 2 ^ 1);   // the first round finds every place free
                fetch_step(ring + stage * STAGE, arrived + 8 * stage, &map_a, &map_b, first_row, first_column, step * BK);
            }
        }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    float sum[128];
    for (int step = 0; step < steps; step++) {
        int stage = step % STAGES;
        unsigned int at_a = ring + stage * STAGE + warpgroup * (BYTES_A / 2), at_b = ring + stage * STAGE + BYTES_A;
        wait(arrived + 8 * stage, step / STAGES % 2);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int i = 0; i < BK / 16; i++)
            multiply(sum, descriptor(at_a + i * (A_COLUMNS ? 2048 : 32), 8192, 1024),
                     descriptor(at_b + i * (B_COLUMNS ? 32 : 2048), 8192, 1024), step == 0 && i == 0);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");   // the step before has been read
        if (step > 0 && t == 0) arrive(left + 8 * ((step - 1) % STAGES));
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    // A thread has two neighbours of every 8 columns, in rows r and r + 8 of its warp's 16.
    int row = first_row + warpgroup * 64 + t / 32 * 16 + t % 32 / 4, column = first_column + t % 4 * 2;
#pragma unroll
    for (int j = 0; j < BN / 8; j++)
#pragma unroll
        for (int half = 0; half < 2; half++)
            if (row + half * 8 < m && column + j * 8 < n)
                *(unsigned int*)(c + size_t(row + half * 8) * n + column + j * 8) =
                    pack(sum[j * 4 + half * 2], sum[j * 4 + half * 2 + 1]);
}
