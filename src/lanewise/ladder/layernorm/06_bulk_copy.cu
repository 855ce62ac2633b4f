// Rung 6: blocks that stay, rows fetched ahead by the bulk copy engine.
//
// Changed: a block works on row after row; while it works on one, the copy engine brings the next ones into shared
// memory and takes finished ones out. In the rung before, a block that reduces or writes has no load in flight; here
// the memory never waits for the arithmetic, and no thread waits for a store. The engine (cp.async.bulk, compute
// capability 9.0) is asked by one thread. In, it reports to an mbarrier in shared memory, whose phase ends when the
// expected bytes have arrived; out, its copies are counted in groups, and a place is filled again when its group has
// been read. Threads' stores to shared memory reach the engine through a proxy fence and a barrier.
// Rows are multiples of 16 bytes.
#include <cuda_bf16.h>

constexpr int E = 16 / sizeof(Element);   // elements of a vector

struct alignas(16) Vector {
    Element of[E];
};

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

__device__ void send(void* target, const void* source, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(target),
                 "r"(shared_address(source)), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

__device__ void wait(unsigned long long* arrived, unsigned int parity) {
    asm volatile(
        "{\n .reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        " @!done bra again;\n}" ::"r"(shared_address(arrived)),
        "r"(parity)
        : "memory");
}

__device__ float warp_sum(float value) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
    return value;
}

// Over the block, the result in every thread. `of_warp` has 32 places, of its own for each call between two barriers.
__device__ float block_sum(float value, float* of_warp) {
    value = warp_sum(value);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    return warp_sum(threadIdx.x % 32 < BLOCK / 32 ? of_warp[threadIdx.x % 32] : 0.0f);
}

extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS_PER_SM)
layernorm(Element* __restrict__ output, const Element* __restrict__ input, const Element* __restrict__ weight,
          const Element* __restrict__ bias, float epsilon, int rows, int columns) {
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
    Vector* y = (Vector*)output;
    int stage = 0;
    unsigned int parity = 0;
    long long row = blockIdx.x, grid = gridDim.x;
    for (; row < rows; row += grid) {
        Vector* here = ring + stage * (BLOCK * VECTORS);
        wait(arrived + stage, parity);
        Vector v[VECTORS];
        float sum = 0.0f;
#pragma unroll
        for (int k = 0; k < VECTORS; k++)
            if (t + k * BLOCK < vectors) {
                v[k] = here[t + k * BLOCK];
#pragma unroll
                for (int e = 0; e < E; e++) sum += float(v[k].of[e]);
            }
        float centre = block_sum(sum, of_warp[0]) / columns;
        // The barrier in it: the row before is finished and goes out; the place of the one before that is filled again.
        if (t == 0 && row >= grid) {
            send(y + (row - grid) * vectors, ring + (stage + STAGES - 1) % STAGES * (BLOCK * VECTORS), vectors * 16);
            long long next = row + (STAGES - 2) * grid;
            if (row >= 2 * grid && next < rows) {
                int place = (stage + STAGES - 2) % STAGES;
                asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
                fetch(ring + place * (BLOCK * VECTORS), x + next * vectors, vectors * 16, arrived + place);
            }
        }
        sum = 0.0f;
#pragma unroll
        for (int k = 0; k < VECTORS; k++)
            if (t + k * BLOCK < vectors) {
#pragma unroll
                for (int e = 0; e < E; e++) {
                    float off = float(v[k].of[e]) - centre;
                    sum += off * off;
                }
            }
        float scale = rsqrtf(block_sum(sum, of_warp[1]) / columns + epsilon);
#pragma unroll
        for (int k = 0; k < VECTORS; k++)
            if (t + k * BLOCK < vectors) {
                Vector w = ((const Vector*)weight)[t + k * BLOCK], b = ((const Vector*)bias)[t + k * BLOCK];
#pragma unroll
                for (int e = 0; e < E; e++)
                    v[k].of[e] = Element((float(v[k].of[e]) - centre) * scale * float(w.of[e]) + float(b.of[e]));
                here[t + k * BLOCK] = v[k];
            }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        if (++stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
    __syncthreads();
    if (t == 0 && row >= grid) {
        send(y + (row - grid) * vectors, ring + (stage + STAGES - 1) % STAGES * (BLOCK * VECTORS), vectors * 16);
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
