// Rung 4: the first addition while loading.
//
// Changed: a block takes 2 * BLOCK elements; each thread adds two on the way in. In the first step of the tree half of
// the threads were idle; now half as many blocks do the same work, with two loads in flight a thread.
extern "C" __global__ void reduce(float* __restrict__ output, const float* __restrict__ input, long long n) {
    __shared__ float partial[BLOCK];
    int t = threadIdx.x;
    long long i = blockIdx.x * (long long)(2 * BLOCK) + t;
    float low = i < n ? input[i] : 0.0f;
    float high = i + BLOCK < n ? input[i + BLOCK] : 0.0f;
    partial[t] = low + high;
    __syncthreads();
    for (int step = BLOCK / 2; step > 0; step /= 2) {
        if (t < step) partial[t] += partial[t + step];
        __syncthreads();
    }
    if (t == 0) output[blockIdx.x] = partial[0];
}
