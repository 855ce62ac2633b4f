// How often does each of 256 values occur? Threads that count the same value at the same time take turns.
// usage: histogram [n] [distinct values]   (fewer distinct values: more threads collide)
#include "common.cuh"

constexpr int BINS = 256, THREADS = 256, WARPS = THREADS / 32;

// All threads of the grid count in one array in global memory.
__global__ void histogram_global(const int* values, int* counts, int n) {
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) atomicAdd(&counts[values[i]], 1);
}

// Each block counts in shared memory first; then one atomic per block and bin.
__global__ void histogram_shared(const int* values, int* counts, int n) {
    __shared__ int local[BINS];
    for (int bin = threadIdx.x; bin < BINS; bin += THREADS) local[bin] = 0;
    __syncthreads();
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) atomicAdd(&local[values[i]], 1);
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += THREADS)
        if (local[bin] > 0) atomicAdd(&counts[bin], local[bin]);
}

// Each warp has counts of its own: only its 32 lanes can still collide.
__global__ void histogram_per_warp(const int* values, int* counts, int n) {
    __shared__ int local[WARPS][BINS];
    for (int i = threadIdx.x; i < WARPS * BINS; i += THREADS) local[i / BINS][i % BINS] = 0;
    __syncthreads();
    int* own = local[threadIdx.x / 32];
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) atomicAdd(&own[values[i]], 1);
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += THREADS) {
        int sum = 0;
        for (int warp = 0; warp < WARPS; warp++) sum += local[warp][bin];
        if (sum > 0) atomicAdd(&counts[bin], sum);
    }
}

// The lanes with the same value find each other, and one of them counts for all: no collisions within a warp.
__global__ void histogram_match(const int* values, int* counts, int n) {
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
        unsigned same = __match_any_sync(__activemask(), values[i]);
        bool first = threadIdx.x % 32 == __ffs(same) - 1;
        if (first) atomicAdd(&counts[values[i]], __popc(same));
    }
}

int main(int argc, char** argv) {
    Example example(argc, argv);
    int n = example.size(0, 1 << 17), distinct = std::min(BINS, example.size(1, BINS));
    std::vector<int> values = random_ints(n, distinct, 1), expected(BINS);
    for (int value : values) expected[value]++;

    DeviceArray<int> device_values(values), counts(BINS);
    example.dump("values", values);
    auto run = [&](const char* name, auto kernel) {
        counts.clear();
        kernel<<<ceil_div(n, 8 * THREADS), THREADS>>>(device_values.data, counts.data, n);  // 8 values a thread
        finish();
        example.check(name, counts.download(), expected);
    };
    run("histogram_global", histogram_global);
    run("histogram_shared", histogram_shared);
    run("histogram_per_warp", histogram_per_warp);
    run("histogram_match", histogram_match);
    return example.exit_code();
}
