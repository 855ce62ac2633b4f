// Rung 4: mean and variance in one pass (Welford).
//
// Changed: a thread keeps count, mean and sum of squared deviations and updates them element by element, without the
// cancellation of the sum of squares; two sets combine by Chan's formula. Two passes over the row instead of three.
#include <cuda_bf16.h>

// Count, mean and sum of squared deviations of some elements.
struct Moments {
    float count, mean, squares;
};

// Chan's formula: the moments of two sets together.
__device__ Moments combine(Moments a, Moments b) {
    float count = a.count + b.count;
    if (count == 0.0f) return a;
    float off = b.mean - a.mean, share = b.count / count;
    return {count, a.mean + off * share, a.squares + b.squares + off * off * a.count * share};
}

__device__ Moments warp_combine(Moments value) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        Moments other = {__shfl_xor_sync(0xffffffff, value.count, step), __shfl_xor_sync(0xffffffff, value.mean, step),
                         __shfl_xor_sync(0xffffffff, value.squares, step)};
        value = combine(value, other);
    }
    return value;
}

extern "C" __global__ void layernorm(Element* __restrict__ output, const Element* __restrict__ input,
                                     const Element* __restrict__ weight, const Element* __restrict__ bias,
                                     float epsilon, int columns) {
    __shared__ Moments of_warp[32];
    size_t row = size_t(blockIdx.x) * columns;
    const Element* x = input + row;
    Moments mine = {0.0f, 0.0f, 0.0f};
    for (int c = threadIdx.x; c < columns; c += BLOCK) {
        float value = float(x[c]);
        mine.count += 1.0f;
        float off = value - mine.mean;
        mine.mean += off / mine.count;
        mine.squares += off * (value - mine.mean);
    }
    mine = warp_combine(mine);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
    __syncthreads();
    mine = warp_combine(threadIdx.x % 32 < BLOCK / 32 ? of_warp[threadIdx.x % 32] : Moments{0.0f, 0.0f, 0.0f});
    float centre = mine.mean, scale = rsqrtf(mine.squares / columns + epsilon);
    for (int c = threadIdx.x; c < columns; c += BLOCK)
        output[row + c] = Element((float(input[row + c]) - centre) * scale * float(weight[c]) + float(bias[c]));
}
