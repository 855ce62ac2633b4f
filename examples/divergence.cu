// A warp runs one instruction at a time: lanes on different paths wait for each other, different warps do not.
// usage: divergence [n]
#include "common.cuh"

// Two ways to stir the bits of a number, costly enough that a branch between them matters.
__host__ __device__ inline int stir_by_multiplying(int x) {
    unsigned u = x;
    for (int step = 0; step < 16; step++) u = u * 1664525u + 1013904223u;
    return static_cast<int>(u);
}

__host__ __device__ inline int stir_by_shifting(int x) {
    unsigned u = x | 1;
    for (int step = 0; step < 16; step++) {
        u ^= u << 13;
        u ^= u >> 17;
        u ^= u << 5;
    }
    return static_cast<int>(u);
}

__host__ __device__ inline int stir(int x, bool multiply) {
    return multiply ? stir_by_multiplying(x) : stir_by_shifting(x);
}

// Odd and even lanes part: each warp runs both paths, each with half its lanes.
__global__ void branch_by_lane(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = stir(in[i], i % 2 == 0);
}

// Odd and even warps part: each warp runs one path.
__global__ void branch_by_warp(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = stir(in[i], i / 32 % 2 == 0);
}

// The path depends on the data: here about half the lanes of each warp take either.
__global__ void branch_by_data(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = stir(in[i], in[i] < 500);
}

// A loop with another number of trips in each lane: the warp stays until its slowest lane is done.
__host__ __device__ inline int repeated_squares(int x, int trips) {
    unsigned u = x;
    for (int trip = 0; trip < trips; trip++) u = u * u % 65521 + trip;
    return static_cast<int>(u);
}

__global__ void loop_uneven(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = repeated_squares(in[i], i % 32 + 1);
}

// As many trips in all, but the same number for all lanes of a warp.
__global__ void loop_even(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = repeated_squares(in[i], i / 32 % 32 + 1);
}

int main(int argc, char** argv) {
    Example example(argc, argv);
    int n = example.size(0, 1 << 15);
    std::vector<int> in = random_ints(n, 1000, 1);
    DeviceArray<int> device_in(in), device_out(n);
    example.dump("in", in);
    auto run = [&](const char* name, auto kernel, auto reference) {
        std::vector<int> expected(n);
        for (int i = 0; i < n; i++) expected[i] = reference(i, in[i]);
        device_out.clear();
        kernel<<<ceil_div(n, 256), 256>>>(device_in.data, device_out.data, n);
        finish();
        example.check(name, device_out.download(), expected);
    };
    run("branch_by_lane", branch_by_lane, [](int i, int x) { return stir(x, i % 2 == 0); });
    run("branch_by_warp", branch_by_warp, [](int i, int x) { return stir(x, i / 32 % 2 == 0); });
    run("branch_by_data", branch_by_data, [](int, int x) { return stir(x, x < 500); });
    run("loop_uneven", loop_uneven, [](int i, int x) { return repeated_squares(x, i % 32 + 1); });
    run("loop_even", loop_even, [](int i, int x) { return repeated_squares(x, i / 32 % 32 + 1); });
    return example.exit_code();
}
