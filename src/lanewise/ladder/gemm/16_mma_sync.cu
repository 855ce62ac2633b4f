// Rung 16: tensor cores, a warp at a time.
//
// The machine feature: `mma.sync` multiplies 16 x 16 elements of A by 16 x 8 of B in one instruction of a warp, sums in
// f32; a lane holds fixed elements of each matrix (a *fragment*). `ldmatrix` loads four 8 x 8 pieces of them, a row of 16 bytes
// from each lane's address, transposed on the way where memory has them the other way round. f16 or bf16.
//
// Changed: a warp's 64 x 32 of C takes 16 instructions for 16 steps of depth, where the rung before takes 1024 for each lane.
// Shared memory has rows 16 bytes longer than the tile, so that the eight rows of a piece are in different banks.
// A and B may be stored by rows or by columns; rows of any length: tiles move in pieces of A_BYTES and B_BYTES, the largest
// power of two that divides a row (2: an ordinary load, cp.async moves 4 or more).
constexpr int BM = 128, BN = 128, THREADS = 256, PAD = 8;
constexpr int ROWS_A = A_COLUMNS ? BK : BM, WIDTH_A = A_COLUMNS ? BM : BK, PITCH_A = WIDTH_A + PAD;   // as stored
constexpr int ROWS_B = B_COLUMNS ? BN : BK, WIDTH_B = B_COLUMNS ? BK : BN, PITCH_B = WIDTH_B + PAD;
constexpr int TILE_A = ROWS_A * PITCH_A, STAGE = TILE_A + ROWS_B * PITCH_B;   // elements
typedef unsigned short Bits;

__device__ unsigned int shared_address(const void* pointer) { return (unsigned int)__cvta_generic_to_shared(pointer); }

// ROWS x WIDTH elements of a matrix of `rows` x `length`, from (row, column) on; zeros outside.
template <int ROWS, int WIDTH, int BYTES>
__device__ void fetch(Bits* tile, const Bits* matrix, int row, int column, int rows, int length) {
    constexpr int PIECE = BYTES / 2, PIECES = WIDTH / PIECE;
    for (int i = threadIdx.x; i < ROWS * PIECES; i += THREADS) {
        int r = i / PIECES, s = i % PIECES * PIECE;
        bool inside = row + r < rows && column + s < length;
        const Bits* from = inside ? matrix + size_t(row + r) * length + column + s : matrix;
        Bits* to = tile + r * (WIDTH + PAD) + s;
        int size = inside ? BYTES : 0;
        unsigned int at = shared_address(to);
        if (BYTES == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(size));
        if (BYTES == 8) asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(at), "l"(from), "r"(size));
        if (BYTES == 4) asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at), "l"(from), "r"(size));
        if (BYTES == 2) *to = inside ? *from : Bits(0);
    }
}

template <bool TRANSPOSED>
__device__ void load_pieces(unsigned int (&d)[4], const Bits* row) {
    if (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                     : "r"(shared_address(row)));
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                     : "r"(shared_address(row)));
}

__device__ void multiply(float (&d)[4], const unsigned int (&a)[4], unsigned int b0, unsigned int b1) {
#if F16
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
#else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
#endif
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ Bits rounded(float value) {
    Bits bits;
#if F16
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
#else
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
#endif
    return bits;
}

extern "C" __global__ void __launch_bounds__(THREADS)
gemm(Bits* __restrict__ c, const Bits* __restrict__ a, const Bits* __restrict__ b, int m, int n, int k) {
    extern __shared__ __align__(16) Bits ring[];   // [STAGES][tile of A, tile of B]
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int first_row = blockIdx.y * BM, first_column = blockIdx.x * BN;
    int row = warp / 4 * 64, column = warp % 4 * 32;   // of the warp's 64 x 32 in the tile
    auto fetch_step = [&](int depth, Bits* stage) {
        if (A_COLUMNS)
            fetch<ROWS_A, WIDTH_A, A_BYTES>(stage, a, depth, first_row, k, m);
        else
            fetch<ROWS_A, WIDTH_A, A_BYTES>(stage, a, first_row, depth, m, k);
        if (B_COLUMNS)
            fetch<ROWS_B, WIDTH_B, B_BYTES>(stage + TILE_A, b, first_column, depth, n, k);
        else
            fetch<ROWS_B, WIDTH_B, B_BYTES>(stage + TILE_A, b, depth, first_column, k, n);
    };
    int steps = (k + BK - 1) / BK;
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < steps) fetch_step(s * BK, ring + s * STAGE);
        asm volatile("cp.async.commit_group;");
    }
    float sum[4][4][4] = {};   // 16 x 8 pieces of C
    for (int step = 0; step < steps; step++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
        __syncthreads();
        if (step + STAGES - 1 < steps) fetch_step((step + STAGES - 1) * BK, ring + (step + STAGES - 1) % STAGES * STAGE);
        asm volatile("cp.async.commit_group;");
        const Bits *tile_a = ring + step % STAGES * STAGE, *tile_b = tile_a + TILE_A;
#pragma unroll
        for (int i = 0; i < BK; i += 16) {
            unsigned int of_a[4][4], of_b[2][4];
#pragma unroll
            for (int r = 0; r < 4; r++)
                load_pieces<A_COLUMNS>(of_a[r], A_COLUMNS ? tile_a + (i + lane % 8 + lane / 16 * 8) * PITCH_A + row + r * 16 + lane / 8 % 2 * 8
                                                          : tile_a + (row + r * 16 + lane % 16) * PITCH_A + i + lane / 16 * 8);
#pragma unroll
            for (int s = 0; s < 2; s++)
                load_pieces<!B_COLUMNS>(of_b[s], B_COLUMNS ? tile_b + (column + s * 16 + lane % 8 + lane / 16 * 8) * PITCH_B + i + lane / 8 % 2 * 8
                                                           : tile_b + (i + lane % 16) * PITCH_B + column + s * 16 + lane / 16 * 8);
#pragma unroll
            for (int r = 0; r < 4; r++)
#pragma unroll
                for (int s = 0; s < 4; s++) multiply(sum[r][s], of_a[r], of_b[s / 2][s % 2 * 2], of_b[s / 2][s % 2 * 2 + 1]);
        }
    }
#pragma unroll
    for (int r = 0; r < 4; r++)
#pragma unroll
        for (int s = 0; s < 4; s++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                int to_row = first_row + row + r * 16 + half * 8 + lane / 4;
                int to_column = first_column + column + s * 8 + lane % 4 * 2;
                Bits* to = c + size_t(to_row) * n + to_column;
                Bits low = rounded(sum[r][s][half * 2]), high = rounded(sum[r][s][half * 2 + 1]);
                if (to_row < m && to_column + 1 < n && C_PAIRS) {
                    *(unsigned int*)to = low | (unsigned int)high << 16;
                } else if (to_row < m) {
                    if (to_column < n) to[0] = low;
                    if (to_column + 1 < n) to[1] = high;
                }
            }
}
