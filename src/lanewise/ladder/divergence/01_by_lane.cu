// Rung 1: neighbouring lanes with different work.
//
// All rungs of this subject step x through v = 0.75 v + 0.25, element i 1 + i % 32 times. Here thread i has element i: the
// lanes of a warp leave the loop one after the other, and the warp runs until the last has finished, 32 steps, with half of
// its lanes idle on average.
extern "C" __global__ void iterate(float* __restrict__ y, const float* __restrict__ x, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
#pragma unroll 1
    for (int step = 0; step <= i % 32; step++) v = 0.75f * v + 0.25f;
    y[i] = v;
}
