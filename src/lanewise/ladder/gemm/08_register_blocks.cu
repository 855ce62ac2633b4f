// Rung 8: a block of C a thread (two-dimensional register blocking).
//
// Changed: a thread computes ROWS x COLUMNS elements. For each depth it reads ROWS elements of A and COLUMNS of B and
// multiplies all pairs: 16 shared reads for 64 multiplications, where the rung before needs 9 for 8.
constexpr int THREADS = (BM / ROWS) * (BN / COLUMNS);

extern "C" __global__ void __launch_bounds__(THREADS)
gemm(Element* __restrict__ c, const Element* __restrict__ a, const Element* __restrict__ b, int m, int n, int k) {
    __shared__ Element tile_a[BM][BK], tile_b[BK][BN];
    int t = threadIdx.x, x = t % (BN / COLUMNS), y = t / (BN / COLUMNS);
    int first_row = blockIdx.y * BM, first_column = blockIdx.x * BN;
    Sum sum[ROWS][COLUMNS] = {};
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
            Element of_a[ROWS], of_b[COLUMNS];
#pragma unroll
            for (int r = 0; r < ROWS; r++) of_a[r] = tile_a[y * ROWS + r][i];
#pragma unroll
            for (int s = 0; s < COLUMNS; s++) of_b[s] = tile_b[i][x * COLUMNS + s];
#pragma unroll
            for (int r = 0; r < ROWS; r++)
#pragma unroll
                for (int s = 0; s < COLUMNS; s++) sum[r][s] += of_a[r] * of_b[s];
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int s = 0; s < COLUMNS; s++) {
            int row = first_row + y * ROWS + r, column = first_column + x * COLUMNS + s;
            if (row < m && column < n) c[size_t(row) * n + column] = sum[r][s];
        }
}
