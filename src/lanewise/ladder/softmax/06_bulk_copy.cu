// Rung 6: blocks that stay, rows fetched ahead by the bulk copy engine.
//
// Changed: a block works on row after row; while it works on one, the copy engine brings the next STAGES - 1 into
// shared memory. In the rung before, a block that reduces or writes has no load in flight; here the memory never waits
// for the arithmetic. The engine (cp.async.bulk, compute capability 9.0) is asked by one thread and reports to an
// mbarrier in shared memory, whose phase ends when the expected bytes have arrived.
// Rows are multiples of 16 bytes.
#include <cuda_bf16.h>

#define INFINITY __int_as_float(0x7f800000)

constexpr int E = 16 / sizeof(Element);   // elements of a vector

struct alignas(16) Vector {
    Element of[E];
};

__device__ Vector load(const Vector* place) {
    float4 bits = __ldcs((const float4*)place);
    return *(Vector*)&bits;
}

__device__ void store(Vector* place, Vector value) { __stcs((float4*)place, *(float4*)&value); }

__device__ unsigned int shared_address(const void* pointer) { return (unsigned int)__cvta_generic_to_shared(pointer); }

// Thread 0 asks for `bytes` (a multiple of 16) from `source`; `arrived` counts them down.
__device__ void fetch(void* target, const void* source, int bytes, unsigned long long* arrived) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(arrived)), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(target)),
                 "l"(source), "r"(bytes), "r"(shared_address(arrived))
                 : "memory");
}

__device__ void wait(unsigned long long* arrived, unsigned int parity) {
    asm volatile(
        "{\n .reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        " @!done bra again;\n}" ::"r"(shared_address(arrived)),
        "r"(parity)
        : "memory");
}

__device__ float warp_max(float value) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, step));
    return value;
}

__device__ float warp_sum(float value) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
    return value;
}

// Over the block, the result in every thread. `of_warp` has 32 places, of its own for each call between two barriers.
__device__ float block_max(float value, float* of_warp) {
    value = warp_max(value);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    return warp_max(threadIdx.x % 32 < BLOCK / 32 ? of_warp[threadIdx.x % 32] : -INFINITY);
}

__device__ float block_sum(float value, float* of_warp) {
    value = warp_sum(value);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    return warp_sum(threadIdx.x % 32 < BLOCK / 32 ? of_warp[threadIdx.x % 32] : 0.0f);
}

extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS_PER_SM)
softmax(Element* __restrict__ output, const Element* __restrict__ input, int rows, int columns) {
    extern __shared__ __align__(128) Vector ring[];   // [STAGES][BLOCK * VECTORS]
    __shared__ unsigned long long arrived[STAGES];
    __shared__ float of_warp[2][32];
    int t = threadIdx.x, vectors = columns / E;
    const Vector* x = (const Vector*)input;
    if (t == 0) {
        for (int s = 0; s < STAGES; s++)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(arrived + s)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        for (int s = 0; s < STAGES; s++) {
            long long row = blockIdx.x + (long long)s * gridDim.x;
            if (row < rows) fetch(ring + s * (BLOCK * VECTORS), x + row * vectors, vectors * 16, arrived + s);
        }
    }
    __syncthreads();
    int stage = 0;
    unsigned int parity = 0;
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        const Vector* here = ring + stage * (BLOCK * VECTORS);
        wait(arrived + stage, parity);
        Vector v[VECTORS];
        float most = -INFINITY;
#pragma unroll
        for (int k = 0; k < VECTORS; k++)
            if (t + k * BLOCK < vectors) v[k] = here[t + k * BLOCK];
#pragma unroll
        for (int k = 0; k < VECTORS; k++)
#pragma unroll
            for (int e = 0; e < E; e++)
                if (t + k * BLOCK < vectors) most = fmaxf(most, float(v[k].of[e]));
        most = block_max(most, of_warp[0]);   // its barrier: all have read the row, its place can be filled again
        long long next = row + (long long)STAGES * gridDim.x;
        if (t == 0 && next < rows)
            fetch(ring + stage * (BLOCK * VECTORS), x + next * vectors, vectors * 16, arrived + stage);
        if (++stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }
        float total = 0.0f;
#pragma unroll
        for (int k = 0; k < VECTORS; k++)
#pragma unroll
            for (int e = 0; e < E; e++)
                if (t + k * BLOCK < vectors) {
                    float value = __expf(float(v[k].of[e]) - most);
                    if (sizeof(Element) == 4) v[k].of[e] = Element(value);
                    total += value;
                }
        float scale = 1.0f / block_sum(total, of_warp[1]);
        Vector* y = (Vector*)output + row * vectors;
#pragma unroll
        for (int k = 0; k < VECTORS; k++) {
#pragma unroll
            for (int e = 0; e < E; e++) {
                float value = float(v[k].of[e]);
                if (sizeof(Element) < 4) value = __expf(value - most);
                v[k].of[e] = Element(value * scale);
            }
            if (t + k * BLOCK < vectors) store(y + t + k * BLOCK, v[k]);
        }
    }
}
