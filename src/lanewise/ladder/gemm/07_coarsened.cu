// Rung 7: a column of C a thread (one-dimensional register blocking).
//
// Changed: a thread computes ROWS elements of C below each other. It reads one element of B from shared memory and uses it
// ROWS times out of a register: shared reads per multiplication fall from 2 to 1 + 1 / ROWS.
// The block is BM x BN of C, BK deep, with BM / ROWS * BN threads.
constexpr int THREADS = BM / ROWS * BN;

extern "C" __global__ void __launch_bounds__(THREADS)
gemm(Element* __restrict__ c, const Element* __restrict__ a, const Element* __restrict__ b, int m, int n, int k) {
    __shared__ Element tile_a[BM][BK], tile_b[BK][BN];
    int t = threadIdx.x, x = t % BN, y = t / BN;
    int first_row = blockIdx.y * BM, first_column = blockIdx.x * BN;
    Sum sum[ROWS] = {};
    for (int first = 0; first < k; first += BK) {
        for (int i = t; i < BM * BK; i += THREADS) {
            int row = first_row + i / BK, depth = first + i % BK;
            tile_a[i / BK][i % BK] = row < m && depth < k ? a[size_t(row) * k + depth] : Element(0);
        }
        for (int i = t; i < BK * BN; i += THREADS) {
            int depth = first + i / BN, column = first_column + i % BN;
            tile_b[i / BN][i % BN] = depth < k && column < n ? b[size_t(depth) * n + column] : Element(0);
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < BK; i++) {
            Element of_b = tile_b[i][x];
#pragma unroll
            for (int r = 0; r < ROWS; r++) sum[r] += tile_a[y * ROWS + r][i] * of_b;
        }
        __syncthreads();
    }
    for (int r = 0; r < ROWS; r++) {
        int row = first_row + y * ROWS + r, column = first_column + x;
        if (row < m && column < n) c[size_t(row) * n + column] = sum[r];
    }
}
