// Rung 14: no idle multiprocessor at the end.
//
// 4096 x 4096 in tiles of 256 x 128 are 512, for 132 multiprocessors 3.88 rounds: the last one leaves 16 idle, and all wait.
//
// Changed (*stream-K*): the grid is one block a multiprocessor. All whole rounds but one are handed out as tiles; what is left, one
// to two tiles for each block, as *steps*: the steps of all these tiles in a row, cut into equal runs. A run may begin or end
// within a tile. Who has a tile's last steps but not its first writes its sums to `partial` and raises a flag; who has the first
// waits for the flag, adds them and writes C. The runs come before the whole tiles and begin with the part for the neighbour:
// it is there long before it is asked for. Every tile is summed in the same order in every run.
//
// On an H200 it loses (docs/ladder/gemm.md). Blocks that work on whole tiles are at the same depth at the same time, and neighbours
// read the same tiles of A and B out of the L2 cache. Runs begin at any depth: nothing is shared, every tile comes from memory.
//
// Changed: the ring never drains: the next tile's first steps are on their way while this one's sums are written.
// All blocks must be resident together. Flags are left at zero.
constexpr int BK = 32, WARPS = BM / 64 * (BN / 64), THREADS = WARPS * 32;
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

// A place in a block's work: a tile and a step in it. First the run of steps, then whole tiles.
struct Cursor {
    int tile, step, row, column;
};

extern "C" __global__ void __launch_bounds__(THREADS, 1)
gemm(float* __restrict__ c, float* partial, unsigned int* flags, const __grid_constant__ TensorMap map_a,
     const __grid_constant__ TensorMap map_b, int m, int n, int k) {
    extern __shared__ __align__(1024) unsigned char ring[];   // [STAGES][A: BM x BK, swizzled; B: BK x BN]
    __shared__ unsigned long long barriers[2 * STAGES];
    unsigned int arrived = shared_address(barriers), left = arrived + STAGES * 8;
    int t = threadIdx.x, lane = t % 32, warp = t / 32, block = blockIdx.x, blocks = gridDim.x;
    int tiles_x = (n + BN - 1) / BN, tiles_y = (m + BM - 1) / BM, tiles = tiles_x * tiles_y, steps = (k + BK - 1) / BK;
    int whole = (tiles / blocks - 1) * blocks;                       // tiles handed out whole
    long long units = (long long)(tiles - whole) * steps;            // steps handed out in runs
    int begin = int(units * block / blocks), end = int(units * (block + 1) / blocks);
    int length = end - begin + whole / blocks * steps;

    auto locate = [&](Cursor& at) {   // where its tile lies: bands of BAND rows, column by column
        int in_band = BAND * tiles_x, band = at.tile / in_band * BAND, rows = min(BAND, tiles_y - band);
        at.row = (band + at.tile % in_band % rows) * BM, at.column = at.tile % in_band / rows * BN;
    };
    auto first = [&]() {
        Cursor at = {whole + begin / steps, begin % steps, 0, 0};
        locate(at);
        return at;
    };
    auto next_tile = [&](Cursor& at, int done) {   // after `done` steps of all
        if (done < end - begin)
            at.tile++;
        else
            at.tile = done == end - begin ? block : at.tile + blocks;
        at.step = 0;
        locate(at);
    };
    Cursor ahead = first();
    int fetched = 0;
    auto fetch_next = [&]() {
        if (t == 0) {
            int stage = fetched % STAGES;
            if (fetched >= STAGES) wait(left + 8 * stage, (fetched / STAGES - 1) % 2);
            unsigned int to = shared_address(ring) + stage * STAGE, full = arrived + 8 * stage;
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full), "r"(STAGE) : "memory");
            fetch(to, &map_a, ahead.step * BK, ahead.row, full);
            fetch(to + BYTES_A, &map_b, ahead.column, ahead.step * BK, full);
        }
        fetched++;
        if (++ahead.step == steps || fetched == end - begin) next_tile(ahead, fetched);
    };
    if (t == 0) {
        for (int s = 0; s < STAGES; s++) {
            init(arrived + 8 * s, 1);
            init(left + 8 * s, WARPS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    while (fetched < STAGES - 1 && fetched < length) fetch_next();

    // Bits of the lane: 0 and 2 say which of four columns of vectors, 1, 3 and 4 which of eight rows.
    int lane_x = (lane & 1) | (lane >> 1 & 2), lane_y = (lane >> 1 & 1) | (lane >> 2 & 6);
    int row = warp / (BN / 64) * 64 + lane_y, column = warp % (BN / 64) * 64 + lane_x * 4;   // and 8 i, and 16 j
    Cursor at = first();
    int done = 0;
    while (done < length) {
        float sum[8][16] = {};
        bool has_first = at.step == 0;
        int here = min(steps - at.step, done < end - begin ? end - begin - done : steps);   // of this tile
        bool has_last = at.step + here == steps;
        for (int stop = done + here; done < stop; done++) {
            int stage = done % STAGES;
            const unsigned char* tile_a = ring + stage * STAGE + row * 128;
            const float* tile_b = (const float*)(ring + stage * STAGE + BYTES_A) + column;
            if (fetched < length) fetch_next();
            wait(arrived + 8 * stage, done / STAGES % 2);
#pragma unroll
            for (int piece = 0; piece < BK / 4; piece++) {
                float of_a[8][4];
#pragma unroll
                for (int r = 0; r < 8; r++)
                    *(float4*)of_a[r] = *(const float4*)(tile_a + r * 1024 + ((piece ^ lane_y) << 4));
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    float of_b[16];
#pragma unroll
                    for (int s = 0; s < 4; s++)
                        *(float4*)(of_b + 4 * s) = *(const float4*)(tile_b + (piece * 4 + i) * BN + 16 * s);
#pragma unroll
                    for (int r = 0; r < 8; r++)
#pragma unroll
                        for (int s = 0; s < 16; s++) sum[r][s] += of_a[r][i] * of_b[s];
                }
            }
            __syncwarp();
            if (lane == 0) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(left + 8 * stage) : "memory");
        }
        if (!has_first) {   // for the block before
            float4* to = (float4*)partial + size_t(block) * 32 * THREADS + t;
#pragma unroll
            for (int i = 0; i < 32; i++) to[i * THREADS] = *(float4*)&sum[i / 4][i % 4 * 4];
            __threadfence();
            asm volatile("bar.sync 1, %0;" ::"n"(THREADS) : "memory");
            if (t == 0) asm volatile("st.release.gpu.u32 [%0], 1;" ::"l"(flags + block) : "memory");
        } else {
            if (!has_last) {   // from the block after
                unsigned int raised;
                do {
                    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(raised) : "l"(flags + block + 1) : "memory");
                } while (!raised);
                const float4* from = (const float4*)partial + size_t(block + 1) * 32 * THREADS + t;
#pragma unroll
                for (int i = 0; i < 32; i++) {
                    float4 more = __ldcg(from + i * THREADS);
                    sum[i / 4][i % 4 * 4] += more.x;
                    sum[i / 4][i % 4 * 4 + 1] += more.y;
                    sum[i / 4][i % 4 * 4 + 2] += more.z;
                    sum[i / 4][i % 4 * 4 + 3] += more.w;
                }
                asm volatile("bar.sync 1, %0;" ::"n"(THREADS) : "memory");   // all have seen the flag
                if (t == 0) flags[block + 1] = 0;
            }
#pragma unroll
            for (int r = 0; r < 8; r++)
#pragma unroll
                for (int s = 0; s < 4; s++) {
                    int to_row = at.row + row + r * 8, to_column = at.column + column + s * 16;
                    if (to_row < m && to_column < n) *(float4*)(c + size_t(to_row) * n + to_column) = *(float4*)&sum[r][s * 4];
                }
        }
        next_tile(at, done);
    }
}
