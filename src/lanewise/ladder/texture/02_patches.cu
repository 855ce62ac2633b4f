// Rung 2: a warp has a patch instead of a row.
//
// Changed: 4 x 8 threads of a warp. They read 8 rows of 4 neighbours: a sector each, of which half is used, 8 sectors where there
// were 32; and write 4 rows of 8 neighbours, 4 whole sectors as before. Locality in two dimensions from the shape of the warp alone.
extern "C" __global__ void __launch_bounds__(256)
turn(float* __restrict__ output, const float* __restrict__ input, int rows, int columns) {
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    int y = blockIdx.x * 32 + warp % 4 * 8 + lane / 4, x = blockIdx.y * 8 + warp / 4 * 4 + lane % 4;
    if (y < rows && x < columns) output[size_t(x) * rows + y] = input[size_t(y) * columns + x];
}
