// Rung 1: one kernel an operation.
//
// Mean, variance, normalisation, scale and shift: four launches. The data is read four times and written twice.
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

extern "C" __global__ void row_mean(float* mean, const Element* __restrict__ input, int columns) {
    __shared__ float of_warp[32];
    const Element* x = input + size_t(blockIdx.x) * columns;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < columns; c += BLOCK) sum += float(x[c]);
    sum = block_sum(sum, of_warp);
    if (threadIdx.x == 0) mean[blockIdx.x] = sum / columns;
}

extern "C" __global__ void row_variance(float* variance, const Element* __restrict__ input, const float* mean,
                                        int columns) {
    __shared__ float of_warp[32];
    const Element* x = input + size_t(blockIdx.x) * columns;
    float centre = mean[blockIdx.x], sum = 0.0f;
    for (int c = threadIdx.x; c < columns; c += BLOCK) {
        float off = float(x[c]) - centre;
        sum += off * off;
    }
    sum = block_sum(sum, of_warp);
    if (threadIdx.x == 0) variance[blockIdx.x] = sum / columns;
}

extern "C" __global__ void normalise(Element* __restrict__ output, const Element* __restrict__ input,
                                     const float* mean, const float* variance, float epsilon, int columns) {
    size_t row = size_t(blockIdx.x) * columns;
    float centre = mean[blockIdx.x], scale = rsqrtf(variance[blockIdx.x] + epsilon);
    for (int c = threadIdx.x; c < columns; c += BLOCK)
        output[row + c] = Element((float(input[row + c]) - centre) * scale);
}

extern "C" __global__ void scale_shift(Element* output, const Element* __restrict__ weight,
                                       const Element* __restrict__ bias, int columns) {
    size_t row = size_t(blockIdx.x) * columns;
    for (int c = threadIdx.x; c < columns; c += BLOCK)
        output[row + c] = Element(float(output[row + c]) * float(weight[c]) + float(bias[c]));
}
