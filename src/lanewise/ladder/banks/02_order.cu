// Rung 2: the same tile, read in another order.
//
// Changed: lane l starts at column l of its row and wraps around: in each step the lanes read 32 different columns, 32
// different banks. No padding; only the order of the additions differs, lane by lane.
extern "C" __global__ void row_sums(float* __restrict__ y, const float* __restrict__ x, int rows) {
    __shared__ float tile[BLOCK * 32];
    int t = threadIdx.x, first = blockIdx.x * BLOCK, lane = t % 32, warp_row = t / 32 * 32;
    for (int r = warp_row; r < warp_row + 32; r++)
        tile[r * 32 + lane] = first + r < rows ? x[size_t(first + r) * 32 + lane] : 0.0f;
    __syncwarp();
    float sum = 0.0f;
#pragma unroll
    for (int c = 0; c < 32; c++) sum += tile[t * 32 + (c + lane) % 32];
    if (first + t < rows) y[first + t] = sum;
}
