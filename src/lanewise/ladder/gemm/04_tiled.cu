// Rung 4: tiles in shared memory.
//
// Changed: a block brings a TILE x TILE tile of A and one of B into shared memory and uses each element TILE times:
// global reads fall to a TILE-th. A warp has one y: it reads one word of tile_a (a broadcast) and 32 neighbours of tile_b.
// No access conflicts.
extern "C" __global__ void
gemm(Element* __restrict__ c, const Element* __restrict__ a, const Element* __restrict__ b, int m, int n, int k) {
    __shared__ Element tile_a[TILE][TILE], tile_b[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    Sum sum = Element(0);
    for (int first = 0; first < k; first += TILE) {
        tile_a[y][x] = row < m && first + x < k ? a[size_t(row) * k + first + x] : Element(0);
        tile_b[y][x] = first + y < k && column < n ? b[size_t(first + y) * n + column] : Element(0);
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += tile_a[y][i] * tile_b[i][x];
        __syncthreads();
    }
    if (row < m && column < n) c[size_t(row) * n + column] = sum;
}
