// Rung 1: a thread adds up a row of shared memory.
//
// All rungs of this subject compute y[r] = the sum of x's row r, 32 floats. A warp brings 32 rows into shared memory by
// rows (no conflict), then lane l adds up row l: in each step the lanes read words PITCH apart. Shared memory has 32 banks
// of 4 bytes, so the lanes meet in 32 / gcd(PITCH, 32) banks: with a pitch of 32 all in one, 32 wavefronts; 48 gives 16,
// 40 gives 8, 36 gives 4, 34 gives 2, and 33, one unused word a row, gives 1. An odd stride never conflicts.
extern "C" __global__ void row_sums(float* __restrict__ y, const float* __restrict__ x, int rows) {
    __shared__ float tile[BLOCK * PITCH];
    int t = threadIdx.x, first = blockIdx.x * BLOCK, lane = t % 32, warp_row = t / 32 * 32;
    for (int r = warp_row; r < warp_row + 32; r++)
        tile[r * PITCH + lane] = first + r < rows ? x[size_t(first + r) * 32 + lane] : 0.0f;
    __syncwarp();
    float sum = 0.0f;
#pragma unroll
    for (int c = 0; c < 32; c++) sum += tile[t * PITCH + c];
    if (first + t < rows) y[first + t] = sum;
}
