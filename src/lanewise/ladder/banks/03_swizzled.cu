// Rung 3: the same order, stored in another place.
//
// Changed: column c of row r is stored at place c ^ r. The rows still fill whole lines when they are stored; a column, which
// the lanes read together, is spread over all banks. Every lane adds its elements in their own order.
extern "C" __global__ void row_sums(float* __restrict__ y, const float* __restrict__ x, int rows) {
    __shared__ float tile[BLOCK * 32];
    int t = threadIdx.x, first = blockIdx.x * BLOCK, lane = t % 32, warp_row = t / 32 * 32;
    for (int r = warp_row; r < warp_row + 32; r++)
        tile[r * 32 + (lane ^ r % 32)] = first + r < rows ? x[size_t(first + r) * 32 + lane] : 0.0f;
    __syncwarp();
    float sum = 0.0f;
#pragma unroll
    for (int c = 0; c < 32; c++) sum += tile[t * 32 + (c ^ lane)];
    if (first + t < rows) y[first + t] = sum;
}
