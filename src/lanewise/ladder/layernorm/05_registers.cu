// Rung 5: the row stays in registers, 16 bytes an access.
//
// Changed: BLOCK * VECTORS vectors of 16 bytes hold the whole row, so it is read from memory once, whatever the caches
// do; mean and variance are two passes over registers (exact, and cheaper than Welford's divisions). All loads of a
// thread are in flight together. Which BLOCK and VECTORS a row length takes is data: few vectors a thread and many
// threads, so that some blocks load while others reduce or write; RESIDENT blocks of an SM are what the compiler may
// count on for registers. FULL: the row fills all vectors of all threads, and none asks whether it is inside: then the
// loads of weight and bias are in flight together too. Rows are multiples of 16 bytes.
#include <cuda_bf16.h>

constexpr int E = 16 / sizeof(Element);   // elements of a vector

struct alignas(16) Vector {
    Element of[E];
};

__device__ Vector load(const Vector* place) {
    float4 bits = __ldcs((const float4*)place);
    return *(Vector*)&bits;
}

__device__ void store(Vector* place, Vector value) { __stcs((float4*)place, *(float4*)&value); }

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

extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT)
layernorm(Element* __restrict__ output, const Element* __restrict__ input, const Element* __restrict__ weight,
          const Element* __restrict__ bias, float epsilon, int columns) {
    __shared__ float of_warp[2][32];
    int t = threadIdx.x, vectors = columns / E;
    const Vector* x = (const Vector*)input + size_t(blockIdx.x) * vectors;
    Vector* y = (Vector*)output + size_t(blockIdx.x) * vectors;
    auto inside = [&](int k) { return FULL || t + k * BLOCK < vectors; };
    Vector v[VECTORS];
#pragma unroll
    for (int k = 0; k < VECTORS; k++)
        if (inside(k)) v[k] = load(x + t + k * BLOCK);
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < VECTORS; k++)
        if (inside(k)) {
#pragma unroll
            for (int e = 0; e < E; e++) sum += float(v[k].of[e]);
        }
    float centre = block_sum(sum, of_warp[0]) / columns;
    sum = 0.0f;
#pragma unroll
    for (int k = 0; k < VECTORS; k++)
        if (inside(k)) {
#pragma unroll
            for (int e = 0; e < E; e++) {
                float off = float(v[k].of[e]) - centre;
                sum += off * off;
            }
        }
    float scale = rsqrtf(block_sum(sum, of_warp[1]) / columns + epsilon);
#pragma unroll
    for (int k = 0; k < VECTORS; k++) {
        if (!inside(k)) continue;
        Vector w = ((const Vector*)weight)[t + k * BLOCK], b = ((const Vector*)bias)[t + k * BLOCK];
#pragma unroll
        for (int e = 0; e < E; e++)
            v[k].of[e] = Element((float(v[k].of[e]) - centre) * scale * float(w.of[e]) + float(b.of[e]));
        store(y + t + k * BLOCK, v[k]);
    }
}
