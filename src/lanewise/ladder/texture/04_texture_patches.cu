// Rung 4: texture and patches.
//
// Changed: the threads of rung 2. A texture is asked for four lanes at a time, and what they share counts: four neighbours of a
// row are one sector, four below each other are two. 8 sectors where there were 16, and the other half of each is the next row's,
// which the lanes beside these read at the same time out of the cache.
extern "C" __global__ void __launch_bounds__(256)
turn(float* __restrict__ output, unsigned long long image, int rows, int columns) {
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    int y = blockIdx.x * 32 + warp % 4 * 8 + lane / 4, x = blockIdx.y * 8 + warp / 4 * 4 + lane % 4;
    if (y < rows && x < columns) output[size_t(x) * rows + y] = tex2D<float>(image, x, y);
}
