// Rung 2: one loop, as many trips as each lane needs.
//
// Changed: one arm for all lanes. They leave the loop one after the other, and the warp runs until the last has finished, 32
// steps instead of 63; half of its lanes are idle on average.
extern "C" __global__ void iterate(float* __restrict__ y, const float* __restrict__ x, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
#pragma unroll 1
    for (int step = 0; step <= i % 32; step++) v = 0.75f * v + 0.25f;
    y[i] = v;
}
