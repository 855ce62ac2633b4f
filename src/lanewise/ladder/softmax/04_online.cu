// Rung 4: maximum and sum in one pass (online softmax).
//
// Changed: a thread keeps the largest element so far and the sum of exponentials relative to it; a larger element
// rescales the sum. Two pairs combine in the same way. Two passes over the row instead of three. The maximum starts at
// the lowest finite number, so that a row that begins with minus infinity does not turn into NaN.
#include <cuda_bf16.h>

#define LOWEST (-3.402823466e38f)

struct Online {
    float most, sum;
};

__device__ Online combine(Online a, Online b) {
    float most = fmaxf(a.most, b.most);
    return {most, a.sum * __expf(a.most - most) + b.sum * __expf(b.most - most)};
}

__device__ Online warp_combine(Online value) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        Online other = {__shfl_xor_sync(0xffffffff, value.most, step), __shfl_xor_sync(0xffffffff, value.sum, step)};
        value = combine(value, other);
    }
    return value;
}

extern "C" __global__ void softmax(Element* __restrict__ output, const Element* __restrict__ input, int columns) {
    __shared__ Online of_warp[32];
    size_t row = size_t(blockIdx.x) * columns;
    const Element* x = input + row;
    Online mine = {LOWEST, 0.0f};
    for (int c = threadIdx.x; c < columns; c += BLOCK) {
        float value = float(x[c]);
        float most = fmaxf(mine.most, value);
        mine.sum = mine.sum * __expf(mine.most - most) + __expf(value - most);
        mine.most = most;
    }
    mine = warp_combine(mine);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
    __syncthreads();
    mine = warp_combine(threadIdx.x % 32 < BLOCK / 32 ? of_warp[threadIdx.x % 32] : Online{LOWEST, 0.0f});
    float scale = 1.0f / mine.sum;
    for (int c = threadIdx.x; c < columns; c += BLOCK)
        output[row + c] = Element(__expf(float(x[c]) - mine.most) * scale);
}
