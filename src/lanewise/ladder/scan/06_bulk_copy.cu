// Rung 6: blocks that stay, tiles fetched ahead by the bulk copy engine, a look-back that does not wait.
//
// Changed: the grid is what the card holds at once; block b takes tiles b, b + grid, b + 2 grid, ... It remembers the
// prefix through its last tile, so it needs only the sums of the grid - 1 tiles in between: as many threads read one
// each, all at the same time. No tile publishes a prefix, no chain forms, and every sum is added in the same order in
// every run: the result does not vary. All blocks must be resident together, since they wait for each other.
//
// Changed: a block publishes the sum of a tile AHEAD tiles before it scans it. Publishing takes about a microsecond to
// be seen; by the time a block asks, the answer has been there for as long as a tile or two take, and a block that is
// late does not hold up the others.
//
// Changed: the next STAGES tiles are on their way meanwhile. The machine feature: one thread asks the *bulk copy
// engine* (cp.async.bulk, compute capability 9.0) to move a whole tile to shared memory. The copy runs by itself and
// reports to an *mbarrier*, a counter in shared memory: it expects a number of bytes, and its phase ends when they have
// arrived; the threads wait for the phase's parity to change. `state` is cleared before the launch. (Taking the tiles out
// by the engine as well was a fifth slower than the threads' own stores.)
constexpr int WARPS = BLOCK / 32;
constexpr int TILE = BLOCK * 4 * VECTORS;
constexpr unsigned int SUM = 1;

__device__ unsigned int shared_address(const void* pointer) { return (unsigned int)__cvta_generic_to_shared(pointer); }

__device__ void fetch(float* target, const float* source, unsigned long long* arrived) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(arrived)),
                 "r"(TILE * 4)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(target)),
                 "l"(source), "r"(TILE * 4), "r"(shared_address(arrived))
                 : "memory");
}

__device__ void wait(unsigned long long* arrived, unsigned int parity) {
    asm volatile(
        "{\n .reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        " @!done bra again;\n}" ::"r"(shared_address(arrived)),
        "r"(parity)
        : "memory");
}

__device__ unsigned long long published(const unsigned long long* place) {
    unsigned long long word;
    asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(word) : "l"(place) : "memory");
    return word;
}

__device__ float warp_scan(float value) {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        float before = __shfl_up_sync(0xffffffff, value, step);
        if (lane >= step) value += before;
    }
    return value;
}

__device__ float warp_sum(float value) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
    return value;
}

// Four neighbours of the last tile, which may end anywhere; zero after the end.
__device__ float4 load_end(const float* input, long long i, long long n) {
    return {i < n ? input[i] : 0.0f, i + 1 < n ? input[i + 1] : 0.0f, i + 2 < n ? input[i + 2] : 0.0f,
            i + 3 < n ? input[i + 3] : 0.0f};
}

extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS_PER_SM)
scan(float* __restrict__ output, unsigned long long* state, const float* __restrict__ input, long long n) {
    extern __shared__ __align__(128) float ring[];   // [STAGES][TILE]
    __shared__ unsigned long long arrived[STAGES];
    __shared__ float of_warp[2][WARPS], others[2][WARPS];   // two sets in turn: one barrier a tile is enough
    int t = threadIdx.x, lane = t % 32, warp = t / 32, grid = gridDim.x;
    long long tiles = (n + TILE - 1) / TILE, whole_tiles = n / TILE;
    int mine = warp * (128 * VECTORS) + lane * 4;   // a warp has VECTORS rows of 128 neighbours
    if (t == 0) {
        for (int s = 0; s < STAGES; s++)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(arrived + s)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        for (int s = 0; s < STAGES; s++) {
            long long tile = blockIdx.x + (long long)s * grid;
            if (tile < whole_tiles) fetch(ring + s * TILE, input + tile * TILE, arrived + s);
        }
    }
    __syncthreads();

    float through_last = 0.0f;   // the prefix through this block's last tile
    // Of the current tile and the AHEAD - 1 after it: the tile's sum, and what comes before this warp in the tile.
    float sum[AHEAD + 1] = {}, before_warp[AHEAD + 1] = {};
    int stage = STAGES - AHEAD, next_stage = 0, set = 0;
    unsigned int next_parity = 0;
    // In round k the sum of tile k + AHEAD is published and tile k is scanned (the first rounds only publish).
    for (long long tile = blockIdx.x - (long long)AHEAD * grid; tile < tiles; tile += grid) {
        long long next = tile + (long long)AHEAD * grid;
        bool wanted = tile >= 0 && t < grid - 1 && t < tile;
        unsigned long long word = wanted ? published(state + tile - 1 - t) : 0;

        float part = 0.0f;
        if (next < whole_tiles) {
            wait(arrived + next_stage, next_parity);
            const float4* rows = (const float4*)(ring + next_stage * TILE + mine);
#pragma unroll
            for (int r = 0; r < VECTORS; r++) part += (rows[r * 32].x + rows[r * 32].y) + (rows[r * 32].z + rows[r * 32].w);
        } else if (next < tiles) {
            for (int r = 0; r < VECTORS; r++) {
                float4 v = load_end(input, next * TILE + mine + r * 128, n);
                part += (v.x + v.y) + (v.z + v.w);
            }
        }
        part = warp_sum(part);
        if (lane == 0) of_warp[set][warp] = part;
        while (wanted && word >> 32 == 0) word = published(state + tile - 1 - t);
        float other = wanted ? __uint_as_float((unsigned int)word) : 0.0f;
        for (int back = t + BLOCK; back < grid - 1 && back < tile; back += BLOCK) {   // more blocks than threads
            do word = published(state + tile - 1 - back);
            while (word >> 32 == 0);
            other += __uint_as_float((unsigned int)word);
        }
        other = warp_sum(other);
        if (lane == 0) others[set][warp] = other;
        __syncthreads();

        // The tile of the round before has been read by all: its place can be filled again.
        long long fetched = tile - grid + (long long)STAGES * grid;
        if (t == 0 && tile - grid >= 0 && fetched < whole_tiles) {
            int place = stage ? stage - 1 : STAGES - 1;
            fetch(ring + place * TILE, input + fetched * TILE, arrived + place);
        }
        // Every warp scans the warps' sums for itself, which saves a barrier.
        float through = warp_scan(lane < WARPS ? of_warp[set][lane] : 0.0f);
        sum[AHEAD] = __shfl_sync(0xffffffff, through, 31);
        before_warp[AHEAD] = __shfl_sync(0xffffffff, through, warp ? warp - 1 : 0);
        if (warp == 0) before_warp[AHEAD] = 0.0f;
        if (t == 0 && next < tiles) {
            unsigned long long announced = (unsigned long long)SUM << 32 | __float_as_uint(sum[AHEAD]);
            asm volatile("st.relaxed.gpu.u64 [%0], %1;" ::"l"(state + next), "l"(announced) : "memory");
        }
        if (tile >= 0) {
            float before_tile = through_last + warp_sum(lane < WARPS ? others[set][lane] : 0.0f);
            through_last = before_tile + sum[0];
            bool whole = tile < whole_tiles;
            long long first = tile * TILE + mine;
            float4 v[VECTORS];
            float through[VECTORS];
            if (whole) {
                const float4* rows = (const float4*)(ring + stage * TILE + mine);
#pragma unroll
                for (int r = 0; r < VECTORS; r++) v[r] = rows[r * 32];
            } else {
#pragma unroll
                for (int r = 0; r < VECTORS; r++) v[r] = load_end(input, first + r * 128, n);
            }
#pragma unroll
            for (int r = 0; r < VECTORS; r++) {
                v[r].y += v[r].x;
                v[r].z += v[r].y;
                v[r].w += v[r].z;
                through[r] = warp_scan(v[r].w);
            }
            float before_row = before_tile + before_warp[0];
#pragma unroll
            for (int r = 0; r < VECTORS; r++) {
                float before = __shfl_up_sync(0xffffffff, through[r], 1);
                before = (lane ? before : 0.0f) + before_row;
                before_row += __shfl_sync(0xffffffff, through[r], 31);
                v[r].x += before;
                v[r].y += before;
                v[r].z += before;
                v[r].w += before;
            }
            if (whole) {
#pragma unroll
                for (int r = 0; r < VECTORS; r++) __stcs((float4*)(output + first + r * 128), v[r]);
            } else {
#pragma unroll
                for (int r = 0; r < VECTORS; r++) {
                    long long i = first + r * 128;
                    if (i < n) output[i] = v[r].x;
                    if (i + 1 < n) output[i + 1] = v[r].y;
                    if (i + 2 < n) output[i + 2] = v[r].z;
                    if (i + 3 < n) output[i + 3] = v[r].w;
                }
            }
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            sum[k] = sum[k + 1];
            before_warp[k] = before_warp[k + 1];
        }
        if (++stage == STAGES) stage = 0;
        set ^= 1;
        if (++next_stage == STAGES) {
            next_stage = 0;
            next_parity ^= 1;
        }
    }
}
