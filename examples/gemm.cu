// C = A B for square matrices of floats, step by step from one load per product to tiles in registers.
// usage: gemm [n]
#include "common.cuh"

// One thread per element of C. The lanes of a warp differ in col: A is one address for all (a broadcast),
// B and C are contiguous.
__global__ void gemm_naive(const float* A, const float* B, float* C, int n) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || col >= n) return;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}

// The same with x and y exchanged: the lanes differ in row, so A and C are read and written in strides of a whole row.
__global__ void gemm_uncoalesced(const float* A, const float* B, float* C, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || col >= n) return;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}

// A block computes a TILE x TILE part of C from tiles of A and B in shared memory: each element of A and B is
// loaded n / TILE times instead of n times. With TRANSPOSED the tile of A is stored column by column, and the 32
// lanes of that store meet in one bank.
template <int TILE, bool TRANSPOSED>
__device__ void tiled_product(const float* A, const float* B, float* C, int n) {
    __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int col = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
    float sum = 0;
    for (int k0 = 0; k0 < n; k0 += TILE) {
        float a = row < n && k0 + x < n ? A[row * n + k0 + x] : 0;  // zeros beyond the edge add nothing
        if (TRANSPOSED)
            tile_a[x][y] = a;
        else
            tile_a[y][x] = a;
        tile_b[y][x] = k0 + y < n && col < n ? B[(k0 + y) * n + col] : 0;
        __syncthreads();  // the tiles are complete
        for (int k = 0; k < TILE; k++) sum += (TRANSPOSED ? tile_a[k][y] : tile_a[y][k]) * tile_b[k][x];
        __syncthreads();  // nobody reads them any more
    }
    if (row < n && col < n) C[row * n + col] = sum;
}

__global__ void gemm_tiled_32(const float* A, const float* B, float* C, int n) { tiled_product<32, false>(A, B, C, n); }
__global__ void gemm_tiled_16(const float* A, const float* B, float* C, int n) { tiled_product<16, false>(A, B, C, n); }
__global__ void gemm_transposed_store(const float* A, const float* B, float* C, int n) {
    tiled_product<32, true>(A, B, C, n);
}

// 256 threads compute a 64 x 64 part of C, each a 4 x 4 part in registers: two shared loads of 4 give 16 products.
constexpr int BLOCK = 64, DEPTH = 16, PART = 4;

__device__ void multiply_tiles(const float (*tile_a)[BLOCK], const float (*tile_b)[BLOCK], int x, int y,
                               float (&sum)[PART][PART]) {
    for (int k = 0; k < DEPTH; k++)
        for (int i = 0; i < PART; i++)
            for (int j = 0; j < PART; j++) sum[i][j] += tile_a[k][y * PART + i] * tile_b[k][x * PART + j];
}

__global__ void gemm_registers(const float* A, const float* B, float* C, int n) {
    __shared__ float tile_a[DEPTH][BLOCK], tile_b[DEPTH][BLOCK];  // tile_a holds A transposed
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
    int row0 = blockIdx.y * BLOCK, col0 = blockIdx.x * BLOCK;
    float sum[PART][PART] = {};
    for (int k0 = 0; k0 < n; k0 += DEPTH) {
        for (int step = 0; step < BLOCK * DEPTH / 256; step++) {
            int i = step * 256 + threadIdx.x;
            int row = row0 + i / DEPTH, k = k0 + i % DEPTH;
            tile_a[i % DEPTH][i / DEPTH] = row < n && k < n ? A[row * n + k] : 0;
        }
        for (int step = 0; step < BLOCK * DEPTH / 256; step++) {
            int i = step * 256 + threadIdx.x;
            int k = k0 + i / BLOCK, col = col0 + i % BLOCK;
            tile_b[i / BLOCK][i % BLOCK] = k < n && col < n ? B[k * n + col] : 0;
        }
        __syncthreads();
        multiply_tiles(tile_a, tile_b, x, y, sum);
        __syncthreads();
    }
    for (int i = 0; i < PART; i++)
        for (int j = 0; j < PART; j++) {
            int row = row0 + y * PART + i, col = col0 + x * PART + j;
            if (row < n && col < n) C[row * n + col] = sum[i][j];
        }
}

// The same with 16-byte loads and stores. Rows must start at multiples of 16 bytes: n is a multiple of 4.
__global__ void gemm_vectorised(const float* A, const float* B, float* C, int n) {
    __shared__ __align__(16) float tile_a[DEPTH][BLOCK], tile_b[DEPTH][BLOCK];
    const float4 zero = {0, 0, 0, 0};
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
    int row0 = blockIdx.y * BLOCK, col0 = blockIdx.x * BLOCK;
    int row = row0 + threadIdx.x / 4, col = col0 + x * 4;  // this thread's 4 elements of A and of B
    float sum[PART][PART] = {};
    for (int k0 = 0; k0 < n; k0 += DEPTH) {
        int ka = threadIdx.x % 4 * 4, kb = y;
        float4 a = row < n && k0 + ka < n ? *reinterpret_cast<const float4*>(&A[row * n + k0 + ka]) : zero;
        float4 b = k0 + kb < n && col < n ? *reinterpret_cast<const float4*>(&B[(k0 + kb) * n + col]) : zero;
        tile_a[ka][threadIdx.x / 4] = a.x;
        tile_a[ka + 1][threadIdx.x / 4] = a.y;
        tile_a[ka + 2][threadIdx.x / 4] = a.z;
        tile_a[ka + 3][threadIdx.x / 4] = a.w;
        *reinterpret_cast<float4*>(&tile_b[kb][x * 4]) = b;
        __syncthreads();
        multiply_tiles(tile_a, tile_b, x, y, sum);
        __syncthreads();
    }
    for (int i = 0; i < PART; i++)
        if (row0 + y * PART + i < n && col < n)
            *reinterpret_cast<float4*>(&C[(row0 + y * PART + i) * n + col]) = {sum[i][0], sum[i][1], sum[i][2], sum[i][3]};
}

int main(int argc, char** argv) {
    Example example(argc, argv);
    int n = example.size(0, 256);
    std::vector<float> a = random_floats(size_t(n) * n, 1), b = random_floats(size_t(n) * n, 2);
    std::vector<float> expected(size_t(n) * n);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++) expected[i * n + j] += a[i * n + k] * b[k * n + j];

    DeviceArray<float> A(a), B(b), C(size_t(n) * n);
    example.dump("a", a);
    example.dump("b", b);
    auto run = [&](const char* name, auto kernel, int tile, dim3 block) {
        C.clear();
        kernel<<<dim3(ceil_div(n, tile), ceil_div(n, tile)), block>>>(A.data, B.data, C.data, n);
        finish();
        example.check(name, C.download(), expected, 1e-4);
    };
    run("gemm_naive", gemm_naive, 32, dim3(32, 32));
    run("gemm_uncoalesced", gemm_uncoalesced, 32, dim3(32, 32));
    run("gemm_tiled_32", gemm_tiled_32, 32, dim3(32, 32));
    run("gemm_tiled_16", gemm_tiled_16, 16, dim3(16, 16));
    run("gemm_transposed_store", gemm_transposed_store, 32, dim3(32, 32));
    run("gemm_registers", gemm_registers, BLOCK, dim3(256));
    if (n % 4 == 0) run("gemm_vectorised", gemm_vectorised, BLOCK, dim3(256));
    return example.exit_code();
}
