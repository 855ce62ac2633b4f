// Rung 2: the working threads stand together.
//
// Changed: thread t works on element 2 * step * t, so the first warps work with all lanes and the others not at all.
// Divergence is gone; the lanes of a warp now lie 2 * step words apart and meet in the same banks.
extern "C" __global__ void reduce(float* __restrict__ output, const float* __restrict__ input, long long n) {
    __shared__ float partial[BLOCK];
    int t = threadIdx.x;
    long long i = blockIdx.x * (long long)BLOCK + t;
    partial[t] = i < n ? input[i] : 0.0f;
    __syncthreads();
    for (int step = 1; step < BLOCK; step *= 2) {
        int at = 2 * step * t;
        if (at < BLOCK) partial[at] += partial[at + step];
        __syncthreads();
    }
    if (t == 0) output[blockIdx.x] = partial[0];
}
