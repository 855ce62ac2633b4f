// Softmax of each row: out = exp(x - max) / sum of exp(x - max).
// usage: softmax [rows] [columns]
#include "common.cuh"

constexpr int THREADS = 128;

// Combine one value per thread over the block; the result goes to all threads.
template <class Operation>
__device__ float block_combine(float x, Operation combine) {
    __shared__ float part[THREADS];
    __syncthreads();  // an earlier result may still be read
    part[threadIdx.x] = x;
    for (int s = THREADS / 2; s > 0; s /= 2) {
        __syncthreads();
        if (threadIdx.x < s) part[threadIdx.x] = combine(part[threadIdx.x], part[threadIdx.x + s]);
    }
    __syncthreads();
    return part[0];
}

struct Larger {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Plus {
    __device__ float operator()(float a, float b) const { return a + b; }
};

// A block per row, three passes: the maximum, the sum, the results.
__global__ void softmax_block_per_row(const float* in, float* out, int columns) {
    const float* x = in + size_t(blockIdx.x) * columns;
    float largest = -INFINITY, sum = 0;
    for (int c = threadIdx.x; c < columns; c += THREADS) largest = fmaxf(largest, x[c]);
    largest = block_combine(largest, Larger());
    for (int c = threadIdx.x; c < columns; c += THREADS) sum += expf(x[c] - largest);
    sum = block_combine(sum, Plus());
    for (int c = threadIdx.x; c < columns; c += THREADS)
        out[size_t(blockIdx.x) * columns + c] = expf(x[c] - largest) / sum;
}

// The maximum so far and the sum relative to it. When a larger maximum turns up, the sum is rescaled.
struct Running {
    float largest, sum;
};

__device__ Running merge(Running a, Running b) {
    float largest = fmaxf(a.largest, b.largest);
    if (largest == -INFINITY) return a;  // both are empty
    return {largest, a.sum * expf(a.largest - largest) + b.sum * expf(b.largest - largest)};
}

__device__ Running warp_merge(Running r) {
    for (int s = 16; s > 0; s /= 2)
        r = merge(r, {__shfl_xor_sync(0xffffffff, r.largest, s), __shfl_xor_sync(0xffffffff, r.sum, s)});
    return r;  // the same in all lanes
}

// Online: maximum and sum in one pass over the row, combined by shuffles.
__global__ void softmax_online(const float* in, float* out, int columns) {
    __shared__ Running part[THREADS / 32];
    const float* x = in + size_t(blockIdx.x) * columns;
    Running r = {-INFINITY, 0};
    for (int c = threadIdx.x; c < columns; c += THREADS) r = merge(r, {x[c], 1});
    r = warp_merge(r);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = r;
    __syncthreads();
    r = part[0];
    for (int warp = 1; warp < THREADS / 32; warp++) r = merge(r, part[warp]);
    for (int c = threadIdx.x; c < columns; c += THREADS)
        out[size_t(blockIdx.x) * columns + c] = expf(x[c] - r.largest) / r.sum;
}

int main(int argc, char** argv) {
    Example example(argc, argv);
    int rows = example.size(0, 64), columns = example.size(1, 512);
    std::vector<float> in = random_floats(size_t(rows) * columns, 1), expected(in.size());
    for (float& x : in) x *= 20;  // without subtracting the maximum, exp would soon overflow
    for (int r = 0; r < rows; r++) {
        const float* x = &in[size_t(r) * columns];
        double largest = *std::max_element(x, x + columns), sum = 0;
        for (int c = 0; c < columns; c++) sum += std::exp(x[c] - largest);
        for (int c = 0; c < columns; c++) expected[size_t(r) * columns + c] = float(std::exp(x[c] - largest) / sum);
    }
    DeviceArray<float> device_in(in), device_out(in.size());
    example.dump("in", in);
    auto run = [&](const char* name, auto kernel) {
        device_out.clear();
        kernel<<<rows, THREADS>>>(device_in.data, device_out.data, columns);
        finish();
        example.check(name, device_out.download(), expected, 1e-6);
    };
    run("softmax_block_per_row", softmax_block_per_row);
    run("softmax_online", softmax_online);
    return example.exit_code();
}
