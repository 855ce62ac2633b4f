// Rung 1: neighbouring lanes in different arms of a branch.
//
// All rungs of this subject step x through v = 0.75 v + 0.25, element i 1 + i % 32 times. Here thread i has element i, and lanes
// with odd and even elements have a branch each, with the same step written in two ways. A warp has both kinds, so it
// runs one arm after the other, each with half of its lanes: 31 and then 32 steps.
extern "C" __global__ void iterate(float* __restrict__ y, const float* __restrict__ x, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    if (i % 2 == 0) {
#pragma unroll 1
        for (int step = 0; step <= i % 32; step++) v = 0.75f * v + 0.25f;
    } else {
#pragma unroll 1
        for (int step = 0; step <= i % 32; step++) v -= 0.25f * (v - 1.0f);
    }
    y[i] = v;
}
