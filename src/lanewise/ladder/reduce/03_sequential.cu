// Rung 3: sequential addressing.
//
// Changed: the distance halves instead of doubling, thread t adds element t + step to element t. The lanes of a warp
// touch neighbouring words: no bank conflicts.
extern "C" __global__ void reduce(float* __restrict__ output, const float* __restrict__ input, long long n) {
    __shared__ float partial[BLOCK];
    int t = threadIdx.x;
    long long i = blockIdx.x * (long long)BLOCK + t;
    partial[t] = i < n ? input[i] : 0.0f;
    __syncthreads();
    for (int step = BLOCK / 2; step > 0; step /= 2) {
        if (t < step) partial[t] += partial[t + step];
        __syncthreads();
    }
    if (t == 0) output[blockIdx.x] = partial[0];
}
