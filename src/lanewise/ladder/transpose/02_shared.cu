// Rung 2: the tile goes through shared memory.
//
// Changed: a block reads a tile by rows and writes it by rows of the output; the turn happens in shared memory. Both
// global accesses are contiguous now. The price: a warp reads a column of the tile, whose elements lie TILE words
// apart, all in one bank (for 4-byte elements): 32 wavefronts where 1 would do.
extern "C" __global__ void transpose(Element* __restrict__ output, const Element* __restrict__ input, int rows, int columns) {
    __shared__ Element tile[TILE][TILE];
    int column = blockIdx.x * TILE + threadIdx.x;
    int row = blockIdx.y * TILE + threadIdx.y;
    if (row < rows && column < columns) tile[threadIdx.y][threadIdx.x] = input[size_t(row) * columns + column];
    __syncthreads();
    int to_row = blockIdx.x * TILE + threadIdx.y;
    int to_column = blockIdx.y * TILE + threadIdx.x;
    if (to_row < columns && to_column < rows)
        output[size_t(to_row) * rows + to_column] = tile[threadIdx.x][threadIdx.y];
}
