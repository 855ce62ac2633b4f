// Rung 3: one unused column in the tile.
//
// Changed: a row is TILE + 1 elements long, so the elements of a column fall in 32 different banks. The price is a
// little shared memory, and rows that no longer start at a multiple of 16 bytes (no vector access).
extern "C" __global__ void transpose(Element* __restrict__ output, const Element* __restrict__ input, int rows, int columns) {
    __shared__ Element tile[TILE][TILE + 1];
    int column = blockIdx.x * TILE + threadIdx.x;
    int row = blockIdx.y * TILE + threadIdx.y;
    if (row < rows && column < columns) tile[threadIdx.y][threadIdx.x] = input[size_t(row) * columns + column];
    __syncthreads();
    int to_row = blockIdx.x * TILE + threadIdx.y;
    int to_column = blockIdx.y * TILE + threadIdx.x;
    if (to_row < columns && to_column < rows)
        output[size_t(to_row) * rows + to_column] = tile[threadIdx.x][threadIdx.y];
}
