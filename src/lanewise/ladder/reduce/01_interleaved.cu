// Rung 1: interleaved addressing with divergent warps.
//
// A block adds BLOCK elements as a tree in shared memory: in each step every thread whose number is a multiple of
// 2 * step adds its neighbour at distance `step`. The working threads are spread over all warps: half of the lanes
// idle in the first step, 31 of 32 in the fifth, and every warp still executes every step.
extern "C" __global__ void reduce(float* __restrict__ output, const float* __restrict__ input, long long n) {
    __shared__ float partial[BLOCK];
    int t = threadIdx.x;
    long long i = blockIdx.x * (long long)BLOCK + t;
    partial[t] = i < n ? input[i] : 0.0f;
    __syncthreads();
    for (int step = 1; step < BLOCK; step *= 2) {
        if (t % (2 * step) == 0) partial[t] += partial[t + step];
        __syncthreads();
    }
    if (t == 0) output[blockIdx.x] = partial[0];
}
