// Rung 12: asynchronous copies.
//
// The machine feature: `cp.async` (compute capability 8.0) copies 4, 8 or 16 bytes from global to shared memory without a
// register in between. A thread goes on at once, closes a group of copies (commit_group) and later waits until at
// most so many groups are open (wait_group).
//
// Changed: STAGES tiles are in a ring and the next ones on their way while one is multiplied. Elements outside the
// matrices arrive as zeros (the copy's source size is 0). Rows of any length: B moves in pieces of B_BYTES, the
// largest power of two that divides its rows; A is turned on the way, word by word.
// Changed: blocks go through BAND rows of tiles column by column, so that the tiles read at a time fit the L2 cache.
constexpr int THREADS = BM / 64 * (BN / 32) * 32;
constexpr int PIECE = B_BYTES / 4;   // elements of B a copy
static_assert(THREADS % BK == 0 && BM % (THREADS / BK) == 0, "a round of copies takes whole rows of A's tile");
static_assert(THREADS % (BN / PIECE) == 0 && BK % (THREADS / (BN / PIECE)) == 0, "and of B's");

__device__ void copy_async(float* target, const float* source, bool inside, int bytes) {
    unsigned int to = (unsigned int)__cvta_generic_to_shared(target);
    int size = inside ? bytes : 0;
    if (bytes == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(source), "r"(size));
    if (bytes == 8) asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(source), "r"(size));
    if (bytes == 4) asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(source), "r"(size));
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
gemm(float* __restrict__ c, const float* __restrict__ a, const float* __restrict__ b, int m, int n, int k) {
    extern __shared__ __align__(16) float ring[];   // [STAGES][BK][BM + 4 of A, BN of B]
    constexpr int PITCH_A = BM + 4, STAGE = BK * (PITCH_A + BN);
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    int tiles_x = (n + BN - 1) / BN, tiles_y = (m + BM - 1) / BM;
    int in_band = BAND * tiles_x, band_row = blockIdx.x / in_band * BAND, rows = min(BAND, tiles_y - band_row);
    int place = blockIdx.x % in_band;
    int first_row = (band_row + place % rows) * BM, first_column = place / rows * BN;
    // Bits of the lane: 0 and 2 say which of four columns of vectors, 1, 3 and 4 which of eight rows.
    int lane_x = (lane & 1) | (lane >> 1 & 2), lane_y = (lane >> 1 & 1) | (lane >> 2 & 6);
    int row = warp / (BN / 32) * 64 + lane_y * 4, column = warp % (BN / 32) * 32 + lane_x * 4;

    // Each thread copies one element of every ROWS_A-th row of A's tile, one piece of every ROWS_B-th row of B's.
    constexpr int ROWS_A = THREADS / BK, ROWS_B = THREADS / (BN / PIECE);
    int depth_a = t % BK, row_a = t / BK, column_b = t % (BN / PIECE) * PIECE, depth_b = t / (BN / PIECE);
    const float* from_a = a + size_t(first_row + row_a) * k + depth_a;
    const float* from_b = b + size_t(depth_b) * n + first_column + column_b;
    size_t step_a = size_t(ROWS_A) * k, step_b = size_t(ROWS_B) * n;
    bool inside = first_row + BM <= m && first_column + BN <= n;
    auto fetch = [&](int first, float* stage) {
        float* to_a = stage + depth_a * PITCH_A + row_a;
        float* to_b = stage + BK * PITCH_A + depth_b * BN + column_b;
        const float* source_a = from_a + first;
        const float* source_b = from_b + size_t(first) * n;
        if (inside && first + BK <= k) {
#pragma unroll
            for (int j = 0; j < BM / ROWS_A; j++) copy_async(to_a + j * ROWS_A, source_a + j * step_a, true, 4);
#pragma unroll
            for (int j = 0; j < BK / ROWS_B; j++) copy_async(to_b + j * ROWS_B * BN, source_b + j * step_b, true, B_BYTES);
        } else {
#pragma unroll 1
            for (int j = 0; j < BM / ROWS_A; j++) {
                bool there = first_row + row_a + j * ROWS_A < m && first + depth_a < k;
                copy_async(to_a + j * ROWS_A, there ? source_a + j * step_a : a, there, 4);
            }
#pragma unroll 1
            for (int j = 0; j < BK / ROWS_B; j++) {
                bool there = first + depth_b + j * ROWS_B < k && first_column + column_b < n;
                copy_async(to_b + j * ROWS_B * BN, there ? source_b + j * step_b : b, there, B_BYTES);
            }
        }
    };
    int tiles = (k + BK - 1) / BK;
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < tiles) fetch(s * BK, ring + s * STAGE);
        asm volatile("cp.async.commit_group;");
    }
    float sum[8][8] = {};
    float of_a[2][8], of_b[2][8];
    for (int tile = 0; tile < tiles; tile++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
        __syncthreads();   // this tile has arrived for all, and all have left the one whose place is filled next
        if (tile + STAGES - 1 < tiles) fetch((tile + STAGES - 1) * BK, ring + (tile + STAGES - 1) % STAGES * STAGE);
        asm volatile("cp.async.commit_group;");
        const float* tile_a = ring + tile % STAGES * STAGE + row;
        const float* tile_b = ring + tile % STAGES * STAGE + BK * PITCH_A + column;
        auto read = [&](int i, int set) {
            *(float4*)of_a[set] = *(const float4*)(tile_a + i * PITCH_A);
            *(float4*)(of_a[set] + 4) = *(const float4*)(tile_a + i * PITCH_A + 32);
            *(float4*)of_b[set] = *(const float4*)(tile_b + i * BN);
            *(float4*)(of_b[set] + 4) = *(const float4*)(tile_b + i * BN + 16);
        };
        read(0, 0);
#pragma unroll
        for (int i = 0; i < BK; i++) {
            if (i + 1 < BK) read(i + 1, (i + 1) % 2);
#pragma unroll
            for (int r = 0; r < 8; r++)
#pragma unroll
                for (int s = 0; s < 8; s++) sum[r][s] += of_a[i % 2][r] * of_b[i % 2][s];
        }
    }
#pragma unroll
    for (int r = 0; r < 8; r++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int to_row = first_row + row + r / 4 * 32 + r % 4, to_column = first_column + column + half * 16;
            float* to = c + size_t(to_row) * n + to_column;
            if (to_row >= m) continue;
            if (B_BYTES == 16) {
                if (to_column < n) *(float4*)to = *(float4*)&sum[r][half * 4];
            } else {
                for (int s = 0; s < 4; s++)
                    if (to_column + s < n) to[s] = sum[r][half * 4 + s];
            }
        }
}
