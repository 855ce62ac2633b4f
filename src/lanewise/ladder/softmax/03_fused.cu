// Rung 3: one kernel, three passes over the row.
//
// Changed: one launch; a block keeps the row's statistics in registers and goes over its row three times. Rows that fit
// the caches come from memory once.
#include <cuda_bf16.h>

#define INFINITY __int_as_float(0x7f800000)

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

extern "C" __global__ void softmax(Element* __restrict__ output, const Element* __restrict__ input, int columns) {
    __shared__ float of_warp[2][32];
    size_t row = size_t(blockIdx.x) * columns;
    const Element* x = input + row;
    float most = -INFINITY;
    for (int c = threadIdx.x; c < columns; c += BLOCK) most = fmaxf(most, float(x[c]));
    most = block_max(most, of_warp[0]);
    float total = 0.0f;
    for (int c = threadIdx.x; c < columns; c += BLOCK) total += __expf(float(x[c]) - most);
    float scale = 1.0f / block_sum(total, of_warp[1]);
    for (int c = threadIdx.x; c < columns; c += BLOCK) output[row + c] = Element(__expf(float(x[c]) - most) * scale);
}
