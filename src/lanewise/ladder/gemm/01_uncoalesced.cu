// Rung 1: one thread an element of C, x along the rows.
//
// C = A B, all stored by rows: A is m x k, B is k x n. The lanes of a warp take 32 rows of one column: each lane's read
// of A and write of C touches a sector of its own.
extern "C" __global__ void
gemm(Element* __restrict__ c, const Element* __restrict__ a, const Element* __restrict__ b, int m, int n, int k) {
    int row = blockIdx.x * TILE + threadIdx.x, column = blockIdx.y * TILE + threadIdx.y;
    if (row >= m || column >= n) return;
    Sum sum = Element(0);
    for (int i = 0; i < k; i++) sum += a[size_t(row) * k + i] * b[size_t(i) * n + column];
    c[size_t(row) * n + column] = sum;
}
