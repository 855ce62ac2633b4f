// The sum of each block of 256 elements, and of all: five ways to add up what many threads hold.
// usage: reduce [n]
#include "common.cuh"

constexpr int THREADS = 256;

// In step s every (2 s)-th thread adds. All warps stay busy to the end, with ever fewer of their lanes.
__global__ void reduce_divergent(const float* in, float* sums, int n) {
    __shared__ float part[THREADS];
    int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    part[t] = i < n ? in[i] : 0;
    for (int s = 1; s < THREADS; s *= 2) {
        __syncthreads();
        if (t % (2 * s) == 0) part[t] += part[t + s];
    }
    if (t == 0) sums[blockIdx.x] = part[0];
}

// The adding threads are neighbours now, so whole warps drop out; but they use words 2 s apart: bank conflicts.
__global__ void reduce_conflict(const float* in, float* sums, int n) {
    __shared__ float part[THREADS];
    int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    part[t] = i < n ? in[i] : 0;
    for (int s = 1; s < THREADS; s *= 2) {
        __syncthreads();
        int k = 2 * s * t;
        if (k < THREADS) part[k] += part[k + s];
    }
    if (t == 0) sums[blockIdx.x] = part[0];
}

// The upper half is added to the lower half: neighbouring threads, neighbouring words.
__global__ void reduce_sequential(const float* in, float* sums, int n) {
    __shared__ float part[THREADS];
    int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    part[t] = i < n ? in[i] : 0;
    for (int s = THREADS / 2; s > 0; s /= 2) {
        __syncthreads();
        if (t < s) part[t] += part[t + s];
    }
    if (t == 0) sums[blockIdx.x] = part[0];
}

// The lanes of a warp hand each other registers: no shared memory, no barrier.
__device__ float warp_sum(float x) {
    for (int s = 16; s > 0; s /= 2) x += __shfl_down_sync(0xffffffff, x, s);
    return x;  // complete in lane 0
}

__device__ float block_sum(float x) {
    __shared__ float part[THREADS / 32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    x = warp_sum(x);
    if (lane == 0) part[warp] = x;
    __syncthreads();
    return warp == 0 ? warp_sum(lane < THREADS / 32 ? part[lane] : 0) : 0;  // complete in thread 0
}

__global__ void reduce_shuffle(const float* in, float* sums, int n) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    float sum = block_sum(i < n ? in[i] : 0);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// Every thread adds to one address: the simplest, and all of them queue there.
__global__ void reduce_atomics(const float* in, float* total, int n) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) atomicAdd(total, in[i]);
}

// One atomic a block, and a few elements a thread before that.
__global__ void reduce_grid_stride(const float* in, float* total, int n) {
    float sum = 0;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) sum += in[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) atomicAdd(total, sum);
}

int main(int argc, char** argv) {
    Example example(argc, argv);
    int n = example.size(0, 1 << 17), blocks = ceil_div(n, THREADS);
    std::vector<float> in = random_floats(n, 1), block_sums(blocks), total(1);
    double sum = 0;
    for (int b = 0; b < blocks; b++) {
        double part = 0;
        for (int i = b * THREADS; i < std::min(n, (b + 1) * THREADS); i++) part += in[i];
        block_sums[b] = static_cast<float>(part);
        sum += part;
    }
    total[0] = static_cast<float>(sum);

    DeviceArray<float> device_in(in);
    example.dump("in", in);
    auto run = [&](const char* name, auto kernel, int grid, const std::vector<float>& expected, double tolerance) {
        DeviceArray<float> out(expected.size());
        kernel<<<grid, THREADS>>>(device_in.data, out.data, n);
        finish();
        example.check(name, out.download(), expected, tolerance);
    };
    run("reduce_divergent", reduce_divergent, blocks, block_sums, 1e-5);
    run("reduce_conflict", reduce_conflict, blocks, block_sums, 1e-5);
    run("reduce_sequential", reduce_sequential, blocks, block_sums, 1e-5);
    run("reduce_shuffle", reduce_shuffle, blocks, block_sums, 1e-5);
    // The order of atomic additions is open, and so are the last bits of their sum.
    run("reduce_atomics", reduce_atomics, blocks, total, 1e-3);
    run("reduce_grid_stride", reduce_grid_stride, ceil_div(blocks, 8), total, 1e-3);
    return example.exit_code();
}
