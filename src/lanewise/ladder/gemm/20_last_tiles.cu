// Rung 20: the last tiles cut in depth.
//
// Three blocks of rung 15 share a multiprocessor: 396 tiles at a time on an H200. 4096 x 4096 is 5.17 times that,
// 2048 x 2048 1.29 times: at the end a third of the multiprocessors (at 2048 nearly all) has one block each, and one block alone is
// hardly three times as fast as three together: it waits for itself.
//
// Changed: tiles that do not fill a round of all places are cut in depth, SPLIT parts each, so that they fill it: the last
// round is as dense as the others and SPLIT times as short (CUT_ROUNDS full rounds before it are cut too). A part writes
// its sums to `partial` and draws a ticket; whoever draws a tile's last one adds all parts, always in the same order, and
// writes C. Whole tiles keep to themselves. In rung 14 (stream-K) runs began at any depth; here the parts of neighbouring
// tiles read the same tiles of A and B at the same time still.
// Tickets are left at zero.
//
// Changed: a row of B may be longer than C's (`pitch_b`). For n that is no multiple of 4 `set_rows` copies B into such
// rows first (the next rung): 8 bytes an element of B, and then 16 bytes a copy instead of 4.
constexpr int WIDTH = 4 * COLUMNS;   // a warp has 64 x WIDTH elements
constexpr int THREADS = BM / 64 * (BN / WIDTH) * 32, PIECE = 4;   // PIECE: elements of B a copy
static_assert(BK % 2 == 0, "sets of operands take turns");
static_assert(THREADS % BK == 0 && BM % (THREADS / BK) == 0, "a round of copies takes whole rows of A's tile");
static_assert(THREADS % (BN / PIECE) == 0 && BK % (THREADS / (BN / PIECE)) == 0, "and of B's");

__device__ void copy_async(float* target, const float* source, bool inside, int bytes) {
    unsigned int to = (unsigned int)__cvta_generic_to_shared(target);
    int size = inside ? bytes : 0;
    if (bytes == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(source), "r"(size));
    if (bytes == 4) asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(source), "r"(size));
}

extern "C" __global__ void set_rows(float* __restrict__ to, const float* __restrict__ from, int to_pitch, int from_pitch) {
    size_t row = blockIdx.x;
    for (int i = threadIdx.x; i < to_pitch; i += blockDim.x)
        to[row * to_pitch + i] = i < from_pitch ? from[row * from_pitch + i] : 0.0f;
}

// The first `whole` tiles have a block each, the others SPLIT.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
gemm(float* __restrict__ c, float4* partial, unsigned int* tickets, const float* __restrict__ a,
     const float* __restrict__ b, int m, int n, int k, int pitch_b, int whole) {
    extern __shared__ __align__(16) float ring[];   // [STAGES][BK][BM + 4 of A, BN of B]
    constexpr int PITCH_A = BM + 4, STAGE = BK * (PITCH_A + BN);
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    int tiles_x = (n + BN - 1) / BN, tiles_y = (m + BM - 1) / BM;
    int cut = int(blockIdx.x) - whole, part = cut >= 0 ? cut % SPLIT : 0;
    int tile_number = cut >= 0 ? whole + cut / SPLIT : blockIdx.x;
    int in_band = BAND * tiles_x, band_row = tile_number / in_band * BAND, rows = min(BAND, tiles_y - band_row);
    int place = tile_number % in_band;
    int first_row = (band_row + place % rows) * BM, first_column = place / rows * BN;
    // Bits of the lane: 0 and 2 say which of four columns of vectors, 1, 3 and 4 which of eight rows.
    int lane_x = (lane & 1) | (lane >> 1 & 2), lane_y = (lane >> 1 & 1) | (lane >> 2 & 6);
    int row = warp / (BN / WIDTH) * 64 + lane_y * 4, column = warp % (BN / WIDTH) * WIDTH + lane_x * 4;

    // Each thread copies one element of every ROWS_A-th row of A's tile, one piece of every ROWS_B-th row of B's.
    constexpr int ROWS_A = THREADS / BK, ROWS_B = THREADS / (BN / PIECE);
    int depth_a = t % BK, row_a = t / BK, column_b = t % (BN / PIECE) * PIECE, depth_b = t / (BN / PIECE);
    const float* from_a = a + size_t(first_row + row_a) * k + depth_a;
    const float* from_b = b + size_t(depth_b) * pitch_b + first_column + column_b;
    size_t step_a = size_t(ROWS_A) * k, step_b = size_t(ROWS_B) * pitch_b;
    bool inside = first_row + BM <= m && first_column + BN <= pitch_b;
    auto fetch = [&](int first, float* stage) {
        float* to_a = stage + depth_a * PITCH_A + row_a;
        float* to_b = stage + BK * PITCH_A + depth_b * BN + column_b;
        const float* source_a = from_a + first;
        const float* source_b = from_b + size_t(first) * pitch_b;
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
                bool there = first + depth_b + j * ROWS_B < k && first_column + column_b < pitch_b;
                copy_async(to_b + j * ROWS_B * BN, there ? source_b + j * step_b : b, there, 16);
            }
        }
    };
    int steps = (k + BK - 1) / BK, from = cut < 0 ? 0 : int((long long)part * steps / SPLIT);   // this block's steps
    int tiles = (cut < 0 ? steps : int((part + 1ll) * steps / SPLIT)) - from;
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < tiles) fetch((from + s) * BK, ring + s * STAGE);
        asm volatile("cp.async.commit_group;");
    }
    float sum[8][COLUMNS] = {};
    float of_a[2][8], of_b[2][COLUMNS];
    const float *tile_a, *tile_b;
    auto next_tile = [&](int tile) {   // it has arrived for all, and all have left the one before it
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
        __syncthreads();
        tile_a = ring + tile % STAGES * STAGE + row;
        tile_b = ring + tile % STAGES * STAGE + BK * PITCH_A + column;
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
        if (tile + STAGES - 1 < tiles) fetch((from + tile + STAGES - 1) * BK, ring + (tile + STAGES - 1) % STAGES * STAGE);
        asm volatile("cp.async.commit_group;");
#pragma unroll
        for (int i = 0; i < BK; i++) {
            if (i + 1 == BK) next_tile(min(tile + 1, tiles - 1));
            read((i + 1) % BK, (i + 1) % 2);   // under the multiplications of this depth
#pragma unroll
            for (int s = 0; s < COLUMNS; s++)
#pragma unroll
                for (int j = 0; j < 8; j++) {
                    int at = s % 2 ? 7 - j : j, r = at < 4 ? 2 * at : 15 - 2 * at;
                    sum[r][s] += of_a[i % 2][r] * of_b[i % 2][s];
                }
        }
    }
    auto write = [&](int r, int s, float4 v) {
        int to_row = first_row + row + r / 4 * 32 + r % 4, to_column = first_column + column + s * 4;
        float* to = c + size_t(to_row) * n + to_column;
        if (to_row >= m) return;
        if (n % 4 == 0) {
            if (to_column < n) *(float4*)to = v;
        } else {
            const float of_v[4] = {v.x, v.y, v.z, v.w};
            for (int i = 0; i < 4; i++)
                if (to_column + i < n) to[i] = of_v[i];
        }
    };
    float one = __int_as_float(0x3f800000 | k >> 31);   // k is not negative
    if (cut < 0 || SPLIT == 1) {
#pragma unroll
        for (int r = 0; r < 8; r++)
#pragma unroll
            for (int s = 0; s < COLUMNS; s += 4)
                write(r, s, {sum[r][s] * one, sum[r][s + 1] * one, sum[r][s + 2] * one, sum[r][s + 3] * one});
        return;
    }
    __shared__ unsigned int drawn;
    constexpr int OF_PART = 2 * COLUMNS * THREADS;   // [row and quarter][thread]
    float4* tile_parts = partial + size_t(tile_number - whole) * SPLIT * OF_PART + t;
    float4* mine = tile_parts + part * OF_PART;
#pragma unroll
    for (int r = 0; r < 8; r++)
#pragma unroll
        for (int s = 0; s < COLUMNS; s += 4)
            __stcg(mine + (r * COLUMNS + s) / 4 * THREADS,
                   float4{sum[r][s] * one, sum[r][s + 1] * one, sum[r][s + 2] * one, sum[r][s + 3] * one});
    __threadfence();
    __syncthreads();
    if (t == 0) drawn = atomicAdd(tickets + (tile_number - whole), 1);
    __syncthreads();
    if (drawn + 1 < SPLIT) return;
    __threadfence();
    if (t == 0) tickets[tile_number - whole] = 0;
#pragma unroll
    for (int r = 0; r < 8; r++)
#pragma unroll
        for (int s = 0; s < COLUMNS; s += 4) {
            const float4* place_of = tile_parts + (r * COLUMNS + s) / 4 * THREADS;
            float4 total = __ldcg(place_of);
#pragma unroll
            for (int p = 1; p < SPLIT; p++) {
                float4 more = __ldcg(place_of + p * OF_PART);
                total = {total.x + more.x, total.y + more.y, total.z + more.z, total.w + more.w};
            }
            write(r, s, total);
        }
}
