// Rung 5: the last warp without block barriers.
//
// Changed: once 32 elements or fewer are left, one warp works alone; it needs no barrier of the block, only
// __syncwarp (lanes of a warp do not run in step by themselves). The loop over the steps is unrolled.
extern "C" __global__ void reduce(float* __restrict__ output, const float* __restrict__ input, long long n) {
    __shared__ float partial[BLOCK];
    int t = threadIdx.x;
    long long i = blockIdx.x * (long long)(2 * BLOCK) + t;
    float low = i < n ? input[i] : 0.0f;
    float high = i + BLOCK < n ? input[i + BLOCK] : 0.0f;
    partial[t] = low + high;
    __syncthreads();
#pragma unroll
    for (int step = BLOCK / 2; step > 32; step /= 2) {
        if (t < step) partial[t] += partial[t + step];
        __syncthreads();
    }
    if (t < 32) {
        float sum = partial[t] + partial[t + 32];
#pragma unroll
        for (int step = 16; step > 0; step /= 2) {
            partial[t] = sum;
            __syncwarp();
            sum += partial[t ^ step];
            __syncwarp();
        }
        if (t == 0) output[blockIdx.x] = sum;
    }
}
