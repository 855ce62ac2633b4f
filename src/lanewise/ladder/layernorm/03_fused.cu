// Rung 3: one kernel, three passes over the row.
//
// Changed: one launch; mean and variance stay in registers, and the block goes over its row three times. Rows that fit
// the caches come from memory once.
#include <cuda_bf16.h>

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

extern "C" __global__ void layernorm(Element* __restrict__ output, const Element* __restrict__ input,
                                     const Element* __restrict__ weight, const Element* __restrict__ bias,
                                     float epsilon, int columns) {
    __shared__ float of_warp[2][32];
    size_t row = size_t(blockIdx.x) * columns;
    const Element* x = input + row;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < columns; c += BLOCK) sum += float(x[c]);
    float centre = block_sum(sum, of_warp[0]) / columns;
    sum = 0.0f;
    for (int c = threadIdx.x; c < columns; c += BLOCK) {
        float off = float(x[c]) - centre;
        sum += off * off;
    }
    float spread = block_sum(sum, of_warp[1]) / columns;
    float scale = rsqrtf(spread + epsilon);
    for (int c = threadIdx.x; c < columns; c += BLOCK)
        output[row + c] = Element((float(input[row + c]) - centre) * scale * float(weight[c]) + float(bias[c]));
}
