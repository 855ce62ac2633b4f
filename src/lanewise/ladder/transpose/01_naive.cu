// Rung 1: one thread an element, no shared memory.
//
// A warp reads 32 neighbours of a row: as few sectors as there can be. It writes them down a column of the output,
// `rows` elements apart, so that each lane's store touches a sector of its own.
extern "C" __global__ void transpose(Element* __restrict__ output, const Element* __restrict__ input, int rows, int columns) {
    int column = blockIdx.x * TILE + threadIdx.x;
    int row = blockIdx.y * TILE + threadIdx.y;
    if (row < rows && column < columns)
        output[size_t(column) * rows + row] = input[size_t(row) * columns + column];
}
