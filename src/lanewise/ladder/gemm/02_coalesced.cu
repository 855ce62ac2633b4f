// Rung 2: x along the columns.
//
// Changed: the lanes of a warp take 32 neighbouring columns of one row. The read of B and the write of C are contiguous,
// the read of A is one word for the whole warp. Nothing else changed.
extern "C" __global__ void
gemm(Element* __restrict__ c, const Element* __restrict__ a, const Element* __restrict__ b, int m, int n, int k) {
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    if (row >= m || column >= n) return;
    Sum sum = Element(0);
    for (int i = 0; i < k; i++) sum += a[size_t(row) * k + i] * b[size_t(i) * n + column];
    c[size_t(row) * n + column] = sum;
}
