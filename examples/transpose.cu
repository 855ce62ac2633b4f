// out = in transposed: reading rows and writing columns cannot both be contiguous, unless a tile turns in shared memory.
// usage: transpose [height] [width]
#include "common.cuh"

constexpr int TILE = 32;

// Reads contiguous, writes in strides of `height` elements: 32 lanes write to 32 different sectors.
__global__ void transpose_naive(const float* in, float* out, int height, int width) {
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x < width && y < height) out[x * height + y] = in[y * width + x];
}

// A tile goes through shared memory, and the block writes it row by row: both global accesses are contiguous.
// But the 32 lanes of the last line read a column of `tile`, 128 bytes apart: all from one bank.
__global__ void transpose_shared(const float* in, float* out, int height, int width) {
    __shared__ float tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = in[y * width + x];
    __syncthreads();
    int out_x = blockIdx.y * TILE + threadIdx.x, out_y = blockIdx.x * TILE + threadIdx.y;
    if (out_x < height && out_y < width) out[out_y * height + out_x] = tile[threadIdx.x][threadIdx.y];
}

// One unused column: rows are 33 words apart, so the elements of a column lie in 32 different banks.
__global__ void transpose_padded(const float* in, float* out, int height, int width) {
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = in[y * width + x];
    __syncthreads();
    int out_x = blockIdx.y * TILE + threadIdx.x, out_y = blockIdx.x * TILE + threadIdx.y;
    if (out_x < height && out_y < width) out[out_y * height + out_x] = tile[threadIdx.x][threadIdx.y];
}

// The same without the 128 unused bytes: element (row, column) is kept in column (column xor row).
__global__ void transpose_swizzled(const float* in, float* out, int height, int width) {
    __shared__ float tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x < width && y < height) tile[threadIdx.y][threadIdx.x ^ threadIdx.y] = in[y * width + x];
    __syncthreads();
    int out_x = blockIdx.y * TILE + threadIdx.x, out_y = blockIdx.x * TILE + threadIdx.y;
    if (out_x < height && out_y < width) out[out_y * height + out_x] = tile[threadIdx.x][threadIdx.y ^ threadIdx.x];
}

int main(int argc, char** argv) {
    Example example(argc, argv);
    int height = example.size(0, 512), width = example.size(1, height);
    std::vector<float> in = random_floats(size_t(height) * width, 1), expected(in.size());
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) expected[x * height + y] = in[y * width + x];

    DeviceArray<float> device_in(in), device_out(in.size());
    example.dump("in", in);
    auto run = [&](const char* name, auto kernel) {
        device_out.clear();
        dim3 grid(ceil_div(width, TILE), ceil_div(height, TILE));
        kernel<<<grid, dim3(TILE, TILE)>>>(device_in.data, device_out.data, height, width);
        finish();
        example.check(name, device_out.download(), expected);
    };
    run("transpose_naive", transpose_naive);
    run("transpose_shared", transpose_shared);
    run("transpose_padded", transpose_padded);
    run("transpose_swizzled", transpose_swizzled);
    return example.exit_code();
}
