// Rung 5: several elements a thread.
//
// Changed: TILE x ROWS_AT_ONCE threads take a TILE x TILE tile, each thread TILE / ROWS_AT_ONCE elements of a column.
// The loads are independent, so all are in flight before the first is stored: memory latency is paid once for several
// elements, and index arithmetic and block launches are shared by them.
extern "C" __global__ void __launch_bounds__(TILE * ROWS_AT_ONCE)
transpose(Element* __restrict__ output, const Element* __restrict__ input, int rows, int columns) {
    __shared__ Element tile[TILE][TILE + 1];
    int x = threadIdx.x;
    int column = blockIdx.x * TILE + x;
    int first_row = blockIdx.y * TILE;
#pragma unroll
    for (int y = threadIdx.y; y < TILE; y += ROWS_AT_ONCE)
        if (first_row + y < rows && column < columns) tile[y][x] = input[size_t(first_row + y) * columns + column];
    __syncthreads();
    int to_column = first_row + x;
    int first_to_row = blockIdx.x * TILE;
#pragma unroll
    for (int y = threadIdx.y; y < TILE; y += ROWS_AT_ONCE)
        if (first_to_row + y < columns && to_column < rows)
            output[size_t(first_to_row + y) * rows + to_column] = tile[x][y];
}
