// Rung 9: 16 bytes an access.
//
// Changed: tiles come in as vectors of four elements, and the tile of A is stored by columns: here that pays, since a
// thread reads ROWS elements of one depth, neighbours now, with 16-byte loads. (In rung 5 it only cost: there each thread
// read one element of a depth.) A thread's block is two halves 4 wide, half a tile apart, so that the lanes' 16-byte reads of
// B are neighbours and do not conflict. Rows that are no multiples of four elements get one element an access again.
constexpr int THREADS = (BM / 8) * (BN / 8);

// Four neighbours of a row that has `left` more: one access, or one each where rows are no multiples of four elements.
__device__ float4 four(const float* from, int left) {
    if (WIDE) return *(const float4*)from;
    return {from[0], left > 1 ? from[1] : 0.0f, left > 2 ? from[2] : 0.0f, left > 3 ? from[3] : 0.0f};
}

// Not inlined: it would be most of the kernel.
static __device__ __noinline__ void put_each(float* to, float4 v, int left) {
    to[0] = v.x;
    if (left > 1) to[1] = v.y;
    if (left > 2) to[2] = v.z;
    if (left > 3) to[3] = v.w;
}

__device__ void put(float* to, float4 v, int left) {
    if (WIDE) *(float4*)to = v;
    else put_each(to, v, left);
}

extern "C" __global__ void __launch_bounds__(THREADS)
gemm(float* __restrict__ c, const float* __restrict__ a, const float* __restrict__ b, int m, int n, int k) {
    __shared__ __align__(16) float tile_a[BK][BM + 4], tile_b[BK][BN];
    int t = threadIdx.x, x = t % (BN / 8), y = t / (BN / 8);
    int first_row = blockIdx.y * BM, first_column = blockIdx.x * BN;
    float sum[8][8] = {};
    for (int first = 0; first < k; first += BK) {
#pragma unroll
        for (int i = t; i < BM * BK / 4; i += THREADS) {
            int row = i / (BK / 4), depth = i % (BK / 4) * 4;
            float4 v = {0.0f, 0.0f, 0.0f, 0.0f};
            if (first_row + row < m && first + depth < k)
                v = four(a + size_t(first_row + row) * k + first + depth, k - first - depth);
            tile_a[depth][row] = v.x;
            tile_a[depth + 1][row] = v.y;
            tile_a[depth + 2][row] = v.z;
            tile_a[depth + 3][row] = v.w;
        }
#pragma unroll
        for (int i = t; i < BK * BN / 4; i += THREADS) {
            int depth = i / (BN / 4), column = i % (BN / 4) * 4;
            float4 v = {0.0f, 0.0f, 0.0f, 0.0f};
            if (first + depth < k && first_column + column < n)
                v = four(b + size_t(first + depth) * n + first_column + column, n - first_column - column);
            *(float4*)&tile_b[depth][column] = v;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < BK; i++) {
            float of_a[8], of_b[8];
            *(float4*)of_a = *(float4*)&tile_a[i][y * 4];
            *(float4*)(of_a + 4) = *(float4*)&tile_a[i][BM / 2 + y * 4];
            *(float4*)of_b = *(float4*)&tile_b[i][x * 4];
            *(float4*)(of_b + 4) = *(float4*)&tile_b[i][BN / 2 + x * 4];
#pragma unroll
            for (int r = 0; r < 8; r++)
#pragma unroll
                for (int s = 0; s < 8; s++) sum[r][s] += of_a[r] * of_b[s];
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < 8; r++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int row = first_row + r / 4 * (BM / 2) + y * 4 + r % 4, column = first_column + half * (BN / 2) + x * 4;
            if (row < m && column < n) put(c + size_t(row) * n + column, *(float4*)&sum[r][half * 4], n - column);
        }
}
