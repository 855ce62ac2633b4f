// Rung 2: Blelloch's work-efficient scan.
//
// Changed: the block builds a tree of sums (up), then hands down to each node what comes before it (down): 2 n
// additions instead of n log n. The nodes of one level lie 2 * step words apart: bank conflicts, more from level to
// level. A thread takes two elements.
__device__ int place(int i) { return i; }

extern "C" __global__ void scan(float* output, float* sums, const float* input, long long n) {
    __shared__ float values[2 * BLOCK];
    int t = threadIdx.x;
    long long first = blockIdx.x * (long long)(2 * BLOCK);
    float low = first + t < n ? input[first + t] : 0.0f;
    float high = first + t + BLOCK < n ? input[first + t + BLOCK] : 0.0f;
    values[place(t)] = low;
    values[place(t + BLOCK)] = high;
    for (int step = 1; step <= BLOCK; step *= 2) {
        __syncthreads();
        int right = 2 * step * (t + 1) - 1;
        if (right < 2 * BLOCK) values[place(right)] += values[place(right - step)];
    }
    __syncthreads();
    if (t == 0) {
        sums[blockIdx.x] = values[place(2 * BLOCK - 1)];
        values[place(2 * BLOCK - 1)] = 0.0f;
    }
    for (int step = BLOCK; step > 0; step /= 2) {
        __syncthreads();
        int right = 2 * step * (t + 1) - 1;
        if (right < 2 * BLOCK) {
            float before = values[place(right)];
            values[place(right)] = before + values[place(right - step)];
            values[place(right - step)] = before;
        }
    }
    __syncthreads();
    if (first + t < n) output[first + t] = values[place(t)] + low;
    if (first + t + BLOCK < n) output[first + t + BLOCK] = values[place(t + BLOCK)] + high;
}

extern "C" __global__ void add(float* output, const float* sums, long long n) {
    if (blockIdx.x == 0) return;
    long long i = blockIdx.x * (long long)(2 * BLOCK) + threadIdx.x;
    float before = sums[blockIdx.x - 1];
    if (i < n) output[i] += before;
    if (i + BLOCK < n) output[i + BLOCK] += before;
}
