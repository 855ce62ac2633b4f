// Rung 15: operands from both register banks.
//
// The machine feature: a scheduler's registers lie in two *banks*, the even and the odd ones, and each gives one register a
// cycle. A multiplication reads three (a, b and the sum). One that the instruction before has read too in the same place
// need not be read again (`.reuse` in the listing); the other two must come from different banks, or dispatch waits.
// And instructions come from a cache: a loop of 4096 multiplications (64 KB) does not fit, one of 1024 does.
//
// Changed against rung 12, from which the copies are: 8 x COLUMNS elements a thread, few registers on their way, a loop of
// BK / SLICES depths. A is turned on its way in, so a thread's eight rows of one depth are two vectors and lie in even and odd
// registers in turn, whatever the depth (in rung 13 the depth decides, and the sums suit every second one).
// Changed: one value of b is held and multiplied with rows 0 2 4 6 7 5 3 1, then the next with 1 3 5 7 6 4 2 0: the first row
// is one that was just read. Left to the compiler: which registers the sums get. It may choose freely since they do not have
// to be neighbours: C is stored from copies, each sum times a one that the compiler cannot know.
// Changed: the barrier of a tile is passed before the last depth of the tile before it, and the first depth read: two warps
// a scheduler do not cover the wait for shared memory after each barrier.
// Changed: SLICES groups of warps share a tile, each takes its part of the depths; for small matrices, where a
// multiprocessor has one tile and four warps would wait for themselves. The slices add their sums at the end.
// A search on an H200 chose 8 x 8 elements a thread and three blocks of four warps: three warps a scheduler and 168 registers
// a thread, enough for the compiler to avoid a bank; with 8 x 16 two warps a scheduler have too little to do between barriers.
constexpr int WIDTH = 4 * COLUMNS;   // a warp has 64 x WIDTH elements
constexpr int WARPS = BM / 64 * (BN / WIDTH), TILE_THREADS = WARPS * 32, THREADS = TILE_THREADS * SLICES;
constexpr int DEPTHS = BK / SLICES, PIECE = 4;   // elements of B a copy
static_assert((SLICES == 1 || SLICES == 2) && DEPTHS % 2 == 0, "slices keep halves of the rows, sets of operands take turns");
static_assert(THREADS % BK == 0 && BM % (THREADS / BK) == 0, "a round of copies takes whole rows of A's tile");
static_assert(THREADS % (BN / PIECE) == 0 && BK % (THREADS / (BN / PIECE)) == 0, "and of B's");

__device__ void copy_async(float* target, const float* source, bool inside, int bytes) {
    unsigned int to = (unsigned int)__cvta_generic_to_shared(target);
    int size = inside ? bytes : 0;
    if (bytes == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(source), "r"(size));
    if (bytes == 4) asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(source), "r"(size));
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
gemm(float* __restrict__ c, const float* __restrict__ a, const float* __restrict__ b, int m, int n, int k) {
    extern __shared__ __align__(16) float ring[];   // [STAGES][BK][BM + 4 of A, BN of B]
    constexpr int PITCH_A = BM + 4, STAGE = BK * (PITCH_A + BN);
    int t = threadIdx.x, lane = t % 32, warp = t / 32 % WARPS, slice = t / TILE_THREADS;
    int tiles_x = (n + BN - 1) / BN, tiles_y = (m + BM - 1) / BM;
    int in_band = BAND * tiles_x, band_row = blockIdx.x / in_band * BAND, rows = min(BAND, tiles_y - band_row);
    int place = blockIdx.x % in_band;
    int first_row = (band_row + place % rows) * BM, first_column = place / rows * BN;
    // Bits of the lane: 0 and 2 say which of four columns of vectors, 1, 3 and 4 which of eight rows.
    int lane_x = (lane & 1) | (lane >> 1 & 2), lane_y = (lane >> 1 & 1) | (lane >> 2 & 6);
    int row = warp / (BN / WIDTH) * 64 + lane_y * 4, column = warp % (BN / WIDTH) * WIDTH + lane_x * 4;

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
            for (int j = 0; j < BK / ROWS_B; j++) copy_async(to_b + j * ROWS_B * BN, source_b + j * step_b, true, 16);
        } else {
#pragma unroll 1
            for (int j = 0; j < BM / ROWS_A; j++) {
                bool there = first_row + row_a + j * ROWS_A < m && first + depth_a < k;
                copy_async(to_a + j * ROWS_A, there ? source_a + j * step_a : a, there, 4);
            }
#pragma unroll 1
            for (int j = 0; j < BK / ROWS_B; j++) {
                bool there = first + depth_b + j * ROWS_B < k && first_column + column_b < n;
                copy_async(to_b + j * ROWS_B * BN, there ? source_b + j * step_b : b, there, 16);
            }
        }
    };
    int tiles = (k + BK - 1) / BK;
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < tiles) fetch(s * BK, ring + s * STAGE);
        asm volatile("cp.async.commit_group;");
    }
    float sum[8][COLUMNS] = {};
    float of_a[2][8], of_b[2][COLUMNS];
    const float *tile_a, *tile_b;
    auto next_tile = [&](int tile) {   // it has arrived for all, and all have left the one before it
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
        __syncthreads();
        tile_a = ring + tile % STAGES * STAGE + slice * DEPTHS * PITCH_A + row;
        tile_b = ring + tile % STAGES * STAGE + BK * PITCH_A + slice * DEPTHS * BN + column;
    };
    auto read = [&](int i, int set) {
        *(float4*)of_a[set] = *(const float4*)(tile_a + i * PITCH_A);
        *(float4*)(of_a[set] + 4) = *(const float4*)(tile_a + i * PITCH_A + 32);
#pragma unroll
        for (int j = 0; j < COLUMNS / 4; j++) *(float4*)(of_b[set] + 4 * j) = *(const float4*)(tile_b + i * BN + 16 * j);
    };
    next_tile(0);
    if (tiles) read(0, 0);
    for (int tile = 0; tile < tiles; tile++) {
        if (tile + STAGES - 1 < tiles) fetch((tile + STAGES - 1) * BK, ring + (tile + STAGES - 1) % STAGES * STAGE);
        asm volatile("cp.async.commit_group;");
#pragma unroll
        for (int i = 0; i < DEPTHS; i++) {
            if (i + 1 == DEPTHS) next_tile(min(tile + 1, tiles - 1));
            read((i + 1) % DEPTHS, (i + 1) % 2);   // under the multiplications of this depth
#pragma unroll
            for (int s = 0; s < COLUMNS; s++)
#pragma unroll
                for (int j = 0; j < 8; j++) {
                    int at = s % 2 ? 7 - j : j, r = at < 4 ? 2 * at : 15 - 2 * at;
                    sum[r][s] += of_a[i % 2][r] * of_b[i % 2][s];
                }
        }
    }
    if (SLICES == 2) {   // slice 0 keeps rows 0 to 3 of its sums, slice 1 rows 4 to 7; the others go to the other slice
        asm volatile("cp.async.wait_group 0;");
        __syncthreads();
        float4* given = (float4*)ring + t % TILE_THREADS;   // [slice][row and quarter][thread]
        constexpr int OF_SLICE = COLUMNS * TILE_THREADS;
#pragma unroll
        for (int r = 0; r < 4; r++)
#pragma unroll
            for (int s = 0; s < COLUMNS; s += 4) {
                const float *low = sum[r] + s, *high = sum[r + 4] + s;
                given[slice * OF_SLICE + (r * COLUMNS + s) / 4 * TILE_THREADS] =
                    slice ? float4{low[0], low[1], low[2], low[3]} : float4{high[0], high[1], high[2], high[3]};
            }
        __syncthreads();
#pragma unroll
        for (int r = 0; r < 4; r++)
#pragma unroll
            for (int s = 0; s < COLUMNS; s += 4) {
                float4 more = given[(1 - slice) * OF_SLICE + (r * COLUMNS + s) / 4 * TILE_THREADS];
                sum[r][s] = (slice ? sum[r + 4][s] : sum[r][s]) + more.x;
                sum[r][s + 1] = (slice ? sum[r + 4][s + 1] : sum[r][s + 1]) + more.y;
                sum[r][s + 2] = (slice ? sum[r + 4][s + 2] : sum[r][s + 2]) + more.z;
                sum[r][s + 3] = (slice ? sum[r + 4][s + 3] : sum[r][s + 3]) + more.w;
            }
    }
    float one = __int_as_float(0x3f800000 | k >> 31);   // k is not negative
#pragma unroll
    for (int r = 0; r < 8 / SLICES; r++)
#pragma unroll
        for (int s = 0; s < COLUMNS; s += 4) {
            int to_row = first_row + row + slice * 32 + r / 4 * 32 + r % 4, to_column = first_column + column + s * 4;
            float* to = c + size_t(to_row) * n + to_column;
            if (to_row >= m) continue;
            float4 v = {sum[r][s] * one, sum[r][s + 1] * one, sum[r][s + 2] * one, sum[r][s + 3] * one};
            if (to_column < n) *(float4*)to = v;
        }
}
