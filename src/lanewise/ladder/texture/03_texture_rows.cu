// Rung 3: the image as a texture, warps in rows again.
//
// The machine feature: a *CUDA array* is memory that is reached by coordinates only, through a *texture object*; the
// hardware lays it out in tiles, in which a sector has 4 x 2 elements, not 8 of one row. So neighbours in either direction
// share sectors, whichever way the image is read.
//
// Changed: tex2D in place of a load, with the threads of rung 1: two rows a sector, 16 sectors where there were 32. The
// coordinates are clamped at the edges for nothing, and could be filtered.
extern "C" __global__ void __launch_bounds__(256)
turn(float* __restrict__ output, unsigned long long image, int rows, int columns) {
    int y = blockIdx.x * 32 + threadIdx.x, x = blockIdx.y * 8 + threadIdx.y;
    if (y < rows && x < columns) output[size_t(x) * rows + y] = tex2D<float>(image, x, y);
}
