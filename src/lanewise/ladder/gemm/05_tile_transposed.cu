// Rung 5: the tile of A stored transposed, a folk remedy.
//
// Changed: tile_a is stored by columns, 'so that the threads do not read down a column'. They never did: a warp has one y
// and reads one word. The read stays a broadcast; the store now walks down a column, 32 lanes in one bank. And where the
// compiler read four neighbours of a row at once, it now reads word by word. Slower.
extern "C" __global__ void
gemm(Element* __restrict__ c, const Element* __restrict__ a, const Element* __restrict__ b, int m, int n, int k) {
    __shared__ Element tile_a[TILE][TILE], tile_b[TILE][TILE];
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
