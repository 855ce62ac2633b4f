// Rung 6: blocks that stay, tiles fetched ahead by the bulk copy engine, the look-back one step wide.
//
// Changed: the grid is what the card holds at once; block b takes tiles b, b + grid, b + 2 grid, ... It remembers the
// prefix through its last tile, so it needs only the sums of the grid - 1 tiles in between: as many threads read one
// each, all at the same time. No tile publishes a prefix, no chain forms, and every sum is added in the same order in
// every run: the result does not vary. All blocks must be resident together, since they wait for each other.
//
// Changed: while a tile waits for the others, the next STAGES tiles are on their way. The machine feature: one thread
// asks the *bulk copy engine* (cp.async.bulk, compute capability 9.0) to move a whole tile to shared memory. The copy
// runs by itself and reports to an *mbarrier*, a counter in shared memory: it expects a number of bytes, and its phase
// ends when they have arrived; the threads wait for the phase's parity to change. `state` is cleared before the launch.
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

extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS_PER_SM)
scan(float* __restrict__ output, unsigned long long* state, const float* __restrict__ input, long long n) {
    extern __shared__ __align__(128) float ring[];   // [STAGES][TILE]
    __shared__ unsigned long long arrived[STAGES];
    __shared__ float of_warp[32], others[32];
    int t = threadIdx.x, lane = t % 32, warp = t / 32, grid = gridDim.x;
    long long tiles = (n + TILE - 1) / TILE, whole_tiles = n / TILE;
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
    int stage = 0;
    unsigned int parity = 0;
    for (long long tile = blockIdx.x; tile < tiles; tile += grid) {
        long long first = tile * TILE + warp * (128 * VECTORS) + lane * 4;
        float4 v[VECTORS];
        if (tile < whole_tiles) {
            wait(arrived + stage, parity);
            const float4* rows = (const float4*)(ring + stage * TILE + warp * (128 * VECTORS)) + lane;
#pragma unroll
            for (int r = 0; r < VECTORS; r++) v[r] = rows[r * 32];
        } else {
#pragma unroll
            for (int r = 0; r < VECTORS; r++) {
                long long i = first + r * 128;
                v[r].x = i < n ? input[i] : 0.0f;
                v[r].y = i + 1 < n ? input[i + 1] : 0.0f;
                v[r].z = i + 2 < n ? input[i + 2] : 0.0f;
                v[r].w = i + 3 < n ? input[i + 3] : 0.0f;
            }
        }
        float carry = 0.0f;
#pragma unroll
        for (int r = 0; r < VECTORS; r++) {
            v[r].y += v[r].x;
            v[r].z += v[r].y;
            v[r].w += v[r].z;
            float through = warp_scan(v[r].w);
            float before = __shfl_up_sync(0xffffffff, through, 1);
            before = (lane ? before : 0.0f) + carry;
            carry += __shfl_sync(0xffffffff, through, 31);
            v[r].x += before;
            v[r].y += before;
            v[r].z += before;
            v[r].w += before;
        }
        if (lane == 0) of_warp[warp] = carry;
        __syncthreads();   // all have read the tile: its place can be filled again
        if (t == 0 && tile + (long long)STAGES * grid < whole_tiles)
            fetch(ring + stage * TILE, input + (tile + (long long)STAGES * grid) * TILE, arrived + stage);
        if (++stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }

        // Every warp scans the warps' sums for itself, which saves a barrier.
        float through = warp_scan(lane < WARPS ? of_warp[lane] : 0.0f);
        float sum = __shfl_sync(0xffffffff, through, 31);
        float before_warp = __shfl_sync(0xffffffff, through, warp ? warp - 1 : 0);
        if (warp == 0) before_warp = 0.0f;
        if (t == 0) {
            unsigned long long word = (unsigned long long)SUM << 32 | __float_as_uint(sum);
            asm volatile("st.relaxed.gpu.u64 [%0], %1;" ::"l"(state + tile), "l"(word) : "memory");
        }
        float other = 0.0f;
        for (int back = t; back < grid - 1 && back < tile; back += BLOCK) {
            unsigned long long word;
            do asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(word) : "l"(state + tile - 1 - back) : "memory");
            while (word >> 32 == 0);
            other += __uint_as_float((unsigned int)word);
        }
        other = warp_sum(other);
        if (lane == 0) others[warp] = other;
        __syncthreads();
        float before_tile = through_last + warp_sum(lane < WARPS ? others[lane] : 0.0f);
        through_last = before_tile + sum;
        float before = before_tile + before_warp;
#pragma unroll
        for (int r = 0; r < VECTORS; r++) {
            long long i = first + r * 128;
            v[r].x += before;
            v[r].y += before;
            v[r].z += before;
            v[r].w += before;
            if (i + 3 < n) {
                __stcs((float4*)(output + i), v[r]);
            } else {
                if (i < n) output[i] = v[r].x;
                if (i + 1 < n) output[i + 1] = v[r].y;
                if (i + 2 < n) output[i + 2] = v[r].z;
            }
        }
    }
}
