// Rung 1: one kernel an operation.
//
// The row's maximum, the exponentials, their sum, the quotients: four launches. The data is read four times and
// written twice. The maximum is subtracted so that no exponential overflows.
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

extern "C" __global__ void row_maximum(float* maximum, const Element* __restrict__ input, int columns) {
    __shared__ float of_warp[32];
    const Element* x = input + size_t(blockIdx.x) * columns;
    float most = -INFINITY;
    for (int c = threadIdx.x; c < columns; c += BLOCK) most = fmaxf(most, float(x[c]));
    most = block_max(most, of_warp);
    if (threadIdx.x == 0) maximum[blockIdx.x] = most;
}

extern "C" __global__ void exponential(Element* __restrict__ output, const Element* __restrict__ input,
                                       const float* maximum, int columns) {
    size_t row = size_t(blockIdx.x) * columns;
    for (int c = threadIdx.x; c < columns; c += BLOCK)
        output[row + c] = Element(__expf(float(input[row + c]) - maximum[blockIdx.x]));
}

extern "C" __global__ void row_sum(float* sum, const Element* __restrict__ exponentials, int columns) {
    __shared__ float of_warp[32];
    const Element* e = exponentials + size_t(blockIdx.x) * columns;
    float total = 0.0f;
    for (int c = threadIdx.x; c < columns; c += BLOCK) total += float(e[c]);
    total = block_sum(total, of_warp);
    if (threadIdx.x == 0) sum[blockIdx.x] = total;
}

extern "C" __global__ void divide(Element* output, const float* sum, int columns) {
    size_t row = size_t(blockIdx.x) * columns;
    for (int c = threadIdx.x; c < columns; c += BLOCK)
        output[row + c] = Element(float(output[row + c]) / sum[blockIdx.x]);
}
