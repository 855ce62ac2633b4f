// Rung 4: texture and patches.
//
// Changed: the threads of rung 2. A patch of 8 rows by 4 elements is 4 sectors of the tiled array, all of them used whole: the least
// that 32 elements can take, for a read that has no order in memory of rows.
extern "C" __global__ void __launch_bounds__(256)
turn(float* __restrict__ output, unsigned long long image, int rows, int columns) {
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    int y = blockIdx.x * 32 + warp % 4 * 8 + lane % 8, x = blockIdx.y * 8 + warp / 4 * 4 + lane / 8;
    if (y < rows && x < columns) output[size_t(x) * rows + y] = tex2D<float>(image, x, y);
}
