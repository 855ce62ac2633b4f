// C = A B for square matrices of n x n floats; n is a multiple of 32. The same as gemm.cl, statement by statement.
extern "C" __global__ void gemm_naive(const float* a, const float* b, float* c, int n) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
}

extern "C" __global__ void gemm_tiled(const float* a, const float* b, float* c, int n) {
    __shared__ float tile_a[32][32];
    __shared__ float tile_b[32][32];
    int x = threadIdx.x, y = threadIdx.y;
    int col = blockIdx.x * 32 + x;
    int row = blockIdx.y * 32 + y;
    float sum = 0;
    for (int k0 = 0; k0 < n; k0 += 32) {
        tile_a[y][x] = a[row * n + k0 + x];
        tile_b[y][x] = b[(k0 + y) * n + col];
        __syncthreads();
        for (int k = 0; k < 32; k++) sum += tile_a[y][k] * tile_b[k][x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}
