// Rung 1: neighbours to neighbours.
//
// All rungs of this subject do the same work, y = 2 x, and differ in which thread touches which element. Here lane l of a
// warp has element l: 32 lanes, 128 bytes, 4 sectors of 32 bytes, the least there can be.
extern "C" __global__ void scale(float* __restrict__ y, const float* __restrict__ x, long long n) {
    long long i = blockIdx.x * (long long)BLOCK + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
