// Rung 1: Hillis and Steele's scan, in three phases.
//
// Each block scans BLOCK elements in shared memory: in step k every thread adds the element 2^k places before its own.
// That is n log n additions, but only log n steps. The sums of the blocks are scanned in the same way (`scan` again,
// level by level) and added to the blocks: the data is read twice and written twice.
extern "C" __global__ void scan(float* output, float* sums, const float* input, long long n) {
    __shared__ float values[2][BLOCK];
    int t = threadIdx.x, now = 0;
    long long i = blockIdx.x * (long long)BLOCK + t;
    values[0][t] = i < n ? input[i] : 0.0f;
    __syncthreads();
    for (int step = 1; step < BLOCK; step *= 2) {
        float value = values[now][t];
        if (t >= step) value += values[now][t - step];
        values[1 - now][t] = value;
        now = 1 - now;
        __syncthreads();
    }
    if (i < n) output[i] = values[now][t];
    if (t == BLOCK - 1) sums[blockIdx.x] = values[now][t];
}

// Adds to each block what comes before it: `sums` scanned.
extern "C" __global__ void add(float* output, const float* sums, long long n) {
    long long i = blockIdx.x * (long long)BLOCK + threadIdx.x;
    if (i < n && blockIdx.x > 0) output[i] += sums[blockIdx.x - 1];
}
