// Rung 13: the bulk tensor copy engine, and 8 x 16 elements a thread.
//
// The machine feature (compute capability 9.0): one thread asks the *copy engine* (TMA) for a box of a matrix; shape and pitch
// are in a *tensor map* that the host made. The box arrives in shared memory by itself, with zeros for what lies
// outside the matrix, and reports its bytes to an *mbarrier*, whose phase ends when all have come.
//
// Changed: thread 0 asks for the tiles; no copy instruction, address or bound is left in the others' loop. Before, each
// thread copied A word by word to turn it. A is not turned any more: a thread reads four depths of a
// row at once, 16 bytes. Rows of A's tile are 128 bytes, so all would start in one bank: the engine stores piece j (16
// bytes) of row r at place j ^ (r % 8), and a thread's rows are 8 apart: the lanes' eight rows are in different banks.
// Changed: the block has no barrier in its loop. Each stage has two mbarriers: its bytes have `arrived`, all warps have `left` it.
// Changed: a thread has 8 x 16 elements: 24 loads for 512 multiplications, before 32 for 512. Rows are multiples of 16 bytes.
constexpr int BK = 32, WARPS = BM / 64 * (BN / 64);
constexpr int BYTES_A = BM * BK * 4, BYTES_B = BK * BN * 4, STAGE = BYTES_A + BYTES_B;

struct alignas(64) TensorMap {
    unsigned char opaque[128];
};

__device__ unsigned int shared_address(const void* pointer) { return (unsigned int)__cvta_generic_to_shared(pointer); }

__device__ void init(unsigned int barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

__device__ void wait(unsigned int barrier, unsigned int parity) {
    asm volatile(
        "{\n .reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        " @!done bra again;\n}" ::"r"(barrier),
        "r"(parity)
        : "memory");
}

__device__ void fetch(unsigned int target, const TensorMap* map, int x, int y, unsigned int barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            target),
        "l"(map), "r"(x), "r"(y), "r"(barrier)
        : "memory");
}

extern "C" __global__ void __launch_bounds__(WARPS * 32, BLOCKS_PER_SM)
gemm(float* __restrict__ c, const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b, int m, int n,
     int k) {
    extern __shared__ __align__(1024) unsigned char ring[];   // [STAGES][A: BM x BK, swizzled; B: BK x BN]
    __shared__ unsigned long long barriers[2 * STAGES];
    unsigned int arrived = shared_address(barriers), left = arrived + STAGES * 8;
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    int tiles_x = (n + BN - 1) / BN, tiles_y = (m + BM - 1) / BM;
    int in_band = BAND * tiles_x, band_row = blockIdx.x / in_band * BAND, rows = min(BAND, tiles_y - band_row);
    int place = blockIdx.x % in_band;
    int first_row = (band_row + place % rows) * BM, first_column = place / rows * BN;
    int steps = (k + BK - 1) / BK;
    auto fetch_step = [&](int step) {
        int stage = step % STAGES;
        unsigned int to = shared_address(ring) + stage * STAGE, full = arrived + 8 * stage;
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full), "r"(STAGE) : "memory");
        fetch(to, &map_a, step * BK, first_row, full);
        fetch(to + BYTES_A, &map_b, first_column, step * BK, full);
    };
    if (t == 0) {
        for (int s = 0; s < STAGES; s++) {
            init(arrived + 8 * s, 1);
            init(left + 8 * s, WARPS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        for (int s = 0; s < STAGES - 1 && s < steps; s++) fetch_step(s);
    }
    __syncthreads();
    // Bits of the lane: 0 and 2 say which of four columns of vectors, 1, 3 and 4 which of eight rows.
    int lane_x = (lane & 1) | (lane >> 1 & 2), lane_y = (lane >> 1 & 1) | (lane >> 2 & 6);
    int row = warp / (BN / 64) * 64 + lane_y, column = warp % (BN / 64) * 64 + lane_x * 4;   // and 8 i, and 16 j
    float sum[8][16] = {};
    for (int step = 0; step < steps; step++) {
        int stage = step % STAGES;
        const unsigned char* tile_a = ring + stage * STAGE + row * 128;
        const float* tile_b = (const float*)(ring + stage * STAGE + BYTES_A) + column;
        if (t == 0 && step + STAGES - 1 < steps) {   // into the place of the step before
            if (step > 0) wait(left + 8 * ((step - 1) % STAGES), (step - 1) / STAGES % 2);
            fetch_step(step + STAGES - 1);
        }
        wait(arrived + 8 * stage, step / STAGES % 2);
#pragma unroll
        for (int piece = 0; piece < BK / 4; piece++) {
            float of_a[8][4];
#pragma unroll
            for (int r = 0; r < 8; r++) *(float4*)of_a[r] = *(const float4*)(tile_a + r * 1024 + ((piece ^ lane_y) << 4));
#pragma unroll
            for (int i = 0; i < 4; i++) {
                float of_b[16];
#pragma unroll
                for (int s = 0; s < 4; s++) *(float4*)(of_b + 4 * s) = *(const float4*)(tile_b + (piece * 4 + i) * BN + 16 * s);
#pragma unroll
                for (int r = 0; r < 8; r++)
#pragma unroll
                    for (int j = 0; j < 16; j++) {
                        int s = r % 2 ? 15 - j : j;   // there and back: the last column of a row is the next one's first
                        sum[r][s] += of_a[r][i] * of_b[s];
                    }
            }
        }
        __syncwarp();
        if (lane == 0) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(left + 8 * stage) : "memory");
    }
#pragma unroll
    for (int r = 0; r < 8; r++)
#pragma unroll
        for (int s = 0; s < 4; s++) {
            int to_row = first_row + row + r * 8, to_column = first_column + column + s * 16;
            if (to_row < m && to_column < n) *(float4*)(c + size_t(to_row) * n + to_column) = *(float4*)&sum[r][s * 4];
        }
}
