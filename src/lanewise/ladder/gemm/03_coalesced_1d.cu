// Rung 3: the same from a one-dimensional block.
//
// Changed: the block is TILE * TILE threads in a row; row and column are quotient and remainder of the thread number.
// The access pattern, and with it every count of memory, is that of rung 2.
extern "C" __global__ void
gemm(Element* __restrict__ c, const Element* __restrict__ a, const Element* __restrict__ b, int m, int n, int k) {
    int row = blockIdx.y * TILE + threadIdx.x / TILE, column = blockIdx.x * TILE + threadIdx.x % TILE;
    if (row >= m || column >= n) return;
    Sum sum = Element(0);
    for (int i = 0; i < k; i++) sum += a[size_t(row) * k + i] * b[size_t(i) * n + column];
    c[size_t(row) * n + column] = sum;
}
