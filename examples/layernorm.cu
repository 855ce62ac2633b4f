// Layer normalisation: each row is shifted to mean 0 and scaled to variance 1, then out = x * scale + shift by column.
// usage: layernorm [rows] [columns]
#include "common.cuh"

constexpr int THREADS = 128;
constexpr float EPSILON = 1e-5f;

// A thread per row: no cooperation needed, but the lanes of a warp are a whole row apart at every access.
__global__ void layernorm_thread_per_row(const float* in, const float* scale, const float* shift, float* out, int rows,
                                         int columns) {
    int row = blockIdx.x * THREADS + threadIdx.x;
    if (row >= rows) return;
    const float* x = in + size_t(row) * columns;
    float mean = 0, variance = 0;
    for (int c = 0; c < columns; c++) mean += x[c];
    mean /= columns;
    for (int c = 0; c < columns; c++) variance += (x[c] - mean) * (x[c] - mean);
    float factor = rsqrtf(variance / columns + EPSILON);
    for (int c = 0; c < columns; c++) out[size_t(row) * columns + c] = (x[c] - mean) * factor * scale[c] + shift[c];
}

// The sum over the block, for all its threads.
__device__ float block_sum(float x) {
    __shared__ float part[THREADS];
    __syncthreads();  // an earlier sum may still be read
    part[threadIdx.x] = x;
    for (int s = THREADS / 2; s > 0; s /= 2) {
        __syncthreads();
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    }
    __syncthreads();
    return part[0];
}

// A block per row: contiguous accesses, but the row is read three times.
__global__ void layernorm_block_per_row(const float* in, const float* scale, const float* shift, float* out, int rows,
                                        int columns) {
    const float* x = in + size_t(blockIdx.x) * columns;
    float sum = 0, squares = 0;
    for (int c = threadIdx.x; c < columns; c += THREADS) sum += x[c];
    float mean = block_sum(sum) / columns;
    for (int c = threadIdx.x; c < columns; c += THREADS) squares += (x[c] - mean) * (x[c] - mean);
    float factor = rsqrtf(block_sum(squares) / columns + EPSILON);
    for (int c = threadIdx.x; c < columns; c += THREADS)
        out[size_t(blockIdx.x) * columns + c] = (x[c] - mean) * factor * scale[c] + shift[c];
}

// Count, mean and sum of squared deviations of a set of numbers; two of them merge exactly (Welford, Chan),
// without the cancellation of "mean of squares minus square of mean".
struct Moments {
    float count, mean, squares;
};

__device__ Moments merge(Moments a, Moments b) {
    float count = a.count + b.count;
    if (count == 0) return a;
    float difference = b.mean - a.mean;
    return {count, a.mean + difference * b.count / count,
            a.squares + b.squares + difference * difference * a.count * b.count / count};
}

__device__ Moments warp_merge(Moments m) {
    for (int s = 16; s > 0; s /= 2) {
        Moments other = {__shfl_xor_sync(0xffffffff, m.count, s), __shfl_xor_sync(0xffffffff, m.mean, s),
                         __shfl_xor_sync(0xffffffff, m.squares, s)};
        m = merge(m, other);
    }
    return m;  // the same in all lanes
}

// Fused: mean and variance in one pass, combined by shuffles; the row is read twice.
__global__ void layernorm_fused(const float* in, const float* scale, const float* shift, float* out, int rows,
                                int columns) {
    __shared__ Moments part[THREADS / 32];
    const float* x = in + size_t(blockIdx.x) * columns;
    Moments m = {0, 0, 0};
    for (int c = threadIdx.x; c < columns; c += THREADS) m = merge(m, {1, x[c], 0});
    m = warp_merge(m);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = m;
    __syncthreads();
    m = part[0];
    for (int warp = 1; warp < THREADS / 32; warp++) m = merge(m, part[warp]);
    float factor = rsqrtf(m.squares / columns + EPSILON);
    for (int c = threadIdx.x; c < columns; c += THREADS)
        out[size_t(blockIdx.x) * columns + c] = (x[c] - m.mean) * factor * scale[c] + shift[c];
}

int main(int argc, char** argv) {
    Example example(argc, argv);
    int rows = example.size(0, 64), columns = example.size(1, 512);
    std::vector<float> in = random_floats(size_t(rows) * columns, 1), expected(in.size());
    std::vector<float> scale = random_floats(columns, 2), shift = random_floats(columns, 3);
    for (int r = 0; r < rows; r++) {
        const float* x = &in[size_t(r) * columns];
        double mean = 0, variance = 0;
        for (int c = 0; c < columns; c++) mean += x[c] / double(columns);
        for (int c = 0; c < columns; c++) variance += (x[c] - mean) * (x[c] - mean) / columns;
        for (int c = 0; c < columns; c++)
            expected[size_t(r) * columns + c] = float((x[c] - mean) / std::sqrt(variance + EPSILON) * scale[c] + shift[c]);
    }
    DeviceArray<float> device_in(in), device_scale(scale), device_shift(shift), device_out(in.size());
    example.dump("in", in);
    example.dump("scale", scale);
    example.dump("shift", shift);
    auto run = [&](const char* name, auto kernel, int blocks) {
        device_out.clear();
        kernel<<<blocks, THREADS>>>(device_in.data, device_scale.data, device_shift.data, device_out.data, rows, columns);
        finish();
        example.check(name, device_out.download(), expected, 1e-4);
    };
    run("layernorm_thread_per_row", layernorm_thread_per_row, ceil_div(rows, THREADS));
    run("layernorm_block_per_row", layernorm_block_per_row, rows);
    run("layernorm_fused", layernorm_fused, rows);
    return example.exit_code();
}
