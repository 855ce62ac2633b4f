// Rung 10: warp tiles.
//
// Changed: a warp has a compact part of the block's tile, 64 x 32 of C, with its lanes in 8 x 4; before it had two rows of
// threads across the whole tile. For each depth it reads 64 + 32 elements out of shared memory, not 16 + 128. The order
// of the lanes is chosen so that l and l ^ 1 read the same vector of A, l and l ^ 2 the same of B: two quarters of a warp
// then share a wavefront. Two blocks a multiprocessor are asked for: two registers more a thread would leave room for one.
constexpr int THREADS = BM / 64 * (BN / 32) * 32;

// Four neighbours of a row that has `left` more: one access, or one each where rows are no multiples of four elements.
__device__ float4 four(const float* from, int left) {
    if (WIDE) return *(const float4*)from;
    return {from[0], left > 1 ? from[1] : 0.0f, left > 2 ? from[2] : 0.0f, left > 3 ? from[3] : 0.0f};
}

// Not inlined: it would be most of the kernel.
static __device__ __noinline__ void put_each(float* to, float4 v, int left) {
    to[0] = v.x;
    if (left > 1) to[1] = v.y;
    if (left > 2) to[2] = v.z;
    if (left > 3) to[3] = v.w;
}

__device__ void put(float* to, float4 v, int left) {
    if (WIDE) *(float4*)to = v;
    else put_each(to, v, left);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
gemm(float* __restrict__ c, const float* __restrict__ a, const float* __restrict__ b, int m, int n, int k) {
    __shared__ __align__(16) float tile_a[BK][BM + 4], tile_b[BK][BN];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    // Bits of the lane: 0 and 2 say which of four columns of vectors, 1, 3 and 4 which of eight rows.
    int lane_x = (lane & 1) | (lane >> 1 & 2), lane_y = (lane >> 1 & 1) | (lane >> 2 & 6);
    int row = warp / (BN / 32) * 64 + lane_y * 4, column = warp % (BN / 32) * 32 + lane_x * 4;   // within the tile
    int first_row = blockIdx.y * BM, first_column = blockIdx.x * BN;
    float sum[8][8] = {};
    for (int first = 0; first < k; first += BK) {
#pragma unroll
        for (int i = t; i < BM * BK / 4; i += THREADS) {
            int from_row = i / (BK / 4), depth = i % (BK / 4) * 4;
            float4 v = {0.0f, 0.0f, 0.0f, 0.0f};
            if (first_row + from_row < m && first + depth < k)
                v = four(a + size_t(first_row + from_row) * k + first + depth, k - first - depth);
            tile_a[depth][from_row] = v.x;
            tile_a[depth + 1][from_row] = v.y;
            tile_a[depth + 2][from_row] = v.z;
            tile_a[depth + 3][from_row] = v.w;
        }
#pragma unroll
        for (int i = t; i < BK * BN / 4; i += THREADS) {
            int depth = i / (BN / 4), from_column = i % (BN / 4) * 4;
            float4 v = {0.0f, 0.0f, 0.0f, 0.0f};
            if (first + depth < k && first_column + from_column < n)
                v = four(b + size_t(first + depth) * n + first_column + from_column, n - first_column - from_column);
            *(float4*)&tile_b[depth][from_column] = v;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < BK; i++) {
            float of_a[8], of_b[8];
            *(float4*)of_a = *(float4*)&tile_a[i][row];
            *(float4*)(of_a + 4) = *(float4*)&tile_a[i][row + 32];
            *(float4*)of_b = *(float4*)&tile_b[i][column];
            *(float4*)(of_b + 4) = *(float4*)&tile_b[i][column + 16];
#pragma unroll
            for (int r = 0; r < 8; r++)
#pragma unroll
                for (int s = 0; s < 8; s++) sum[r][s] += of_a[r] * of_b[s];
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < 8; r++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int to_row = first_row + row + r / 4 * 32 + r % 4, to_column = first_column + column + half * 16;
            if (to_row < m && to_column < n)
                put(c + size_t(to_row) * n + to_column, *(float4*)&sum[r][half * 4], n - to_column);
        }
}
