// Rung 1: an image turned by a quarter, read from global memory.
//
// out[x][y] = in[y][x]: a warp's 32 threads are neighbours in a row of the output and so lie below each other in the input:
// 32 rows, 32 sectors for 32 elements. (No shared memory here: a warp reads where a turned, scaled or warped image
// is, which a tile does not know beforehand. `transpose` is the subject for the turn itself.)
extern "C" __global__ void __launch_bounds__(256)
turn(float* __restrict__ output, const float* __restrict__ input, int rows, int columns) {
    int y = blockIdx.x * 32 + threadIdx.x, x = blockIdx.y * 8 + threadIdx.y;
    if (y < rows && x < columns) output[size_t(x) * rows + y] = input[size_t(y) * columns + x];
}
