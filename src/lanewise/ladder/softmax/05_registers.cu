// Rung 5: the row stays in registers, 16 bytes an access.
//
// Changed: BLOCK * VECTORS vectors of 16 bytes hold the whole row, so it is read from memory once, whatever the caches
// do; the passes run over registers. All loads of a thread are in flight together. Each exponential is computed once and
// kept as a float: an SM computes 16 a clock, too few for two of each element of a bf16 row. Which BLOCK and VECTORS a
// row length takes is data: few vectors a thread and many threads, so that some blocks load while others reduce or
// write; RESIDENT blocks of an SM are what the compiler may count on for registers. FULL: the row fills all vectors of all
// threads, and none asks whether it is inside. An exponential is three instructions. Rows are multiples of 16 bytes.
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

// 2 to the x, one instruction of the unit for it; without .ftz three more would take care of results below 2^-126.
__device__ float power_of_2(float x) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT)
softmax(Element* __restrict__ output, const Element* __restrict__ input, int columns) {
    __shared__ float of_warp[2][32];
    int t = threadIdx.x, vectors = columns / E;
    const Vector* x = (const Vector*)input + size_t(blockIdx.x) * vectors;
    Vector* y = (Vector*)output + size_t(blockIdx.x) * vectors;
    auto inside = [&](int k) { return FULL || t + k * BLOCK < vectors; };
    Vector v[VECTORS];
#pragma unroll
    for (int k = 0; k < VECTORS; k++) {
#pragma unroll
        for (int e = 0; e < E; e++) v[k].of[e] = Element(-INFINITY);   // leaves maximum and sum as they are
        if (inside(k)) v[k] = load(x + t + k * BLOCK);
    }
    float most = -INFINITY;
#pragma unroll
    for (int k = 0; k < VECTORS; k++)
#pragma unroll
        for (int e = 0; e < E; e++) most = fmaxf(most, float(v[k].of[e]));
    constexpr float LOG2_E = 1.4426950408889634f;   // exp(d) is 2 to the d log2 e
    most = block_max(most, of_warp[0]);
    float total = 0.0f;
    float exponential[VECTORS][E];
#pragma unroll
    for (int k = 0; k < VECTORS; k++)
#pragma unroll
        for (int e = 0; e < E; e++) {
            exponential[k][e] = power_of_2((float(v[k].of[e]) - most) * LOG2_E);
            total += exponential[k][e];
        }
    float scale = 1.0f / block_sum(total, of_warp[1]);
#pragma unroll
    for (int k = 0; k < VECTORS; k++) {
#pragma unroll
        for (int e = 0; e < E; e++) v[k].of[e] = Element(exponential[k][e] * scale);
        if (inside(k)) store(y + t + k * BLOCK, v[k]);
    }
}
