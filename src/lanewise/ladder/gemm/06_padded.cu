// Rung 6: the transposed tile, padded.
//
// Changed: a row of the transposed tile is one word longer; the store's lanes fall in 32 banks. The padding repairs what
// rung 5 broke, but not all: in rung 4 the compiler reads four neighbours of a row of the tile at once, here it cannot.
extern "C" __global__ void
gemm(Element* __restrict__ c, const Element* __restrict__ a, const Element* __restrict__ b, int m, int n, int k) {
    __shared__ Element tile_a[TILE][TILE + 1], tile_b[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    Sum sum = Element(0);
    for (int first = 0; first < k; first += TILE) {
        tile_a[x][y] = row < m && first + x < k ? a[size_t(row) * k + first + x] : Element(0);
        tile_b[y][x] = first + y < k && column < n ? b[size_t(first + y) * n + column] : Element(0);
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += tile_a[i][y] * tile_b[i][x];
        __syncthreads();
    }
    if (row < m && column < n) c[size_t(row) * n + column] = sum;
}
