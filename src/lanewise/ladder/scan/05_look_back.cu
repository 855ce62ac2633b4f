// Rung 5: one pass, with decoupled look-back (Merrill and Garland, 2016).
//
// Changed: one launch; the data is read once and written once. A block takes the next tile by a ticket (so all earlier
// tiles are under way), publishes the tile's sum, and then looks back: a warp reads what 32 earlier tiles published at
// once, adds sums until it meets a tile whose whole prefix is known, and publishes its own prefix.
// Sum and state travel in one 64-bit word, so that no fence is needed between them. `state` and `ticket` are cleared
// before the launch.
constexpr int ITEMS = 4 * VECTORS;
constexpr int TILE = BLOCK * ITEMS;
constexpr unsigned int SUM = 1, PREFIX = 2;   // what a tile has published; 0: nothing yet

__device__ void publish(unsigned long long* place, unsigned int what, float value) {
    unsigned long long word = (unsigned long long)what << 32 | __float_as_uint(value);
    asm volatile("st.relaxed.gpu.u64 [%0], %1;" ::"l"(place), "l"(word) : "memory");
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

// What comes before this tile; called by one whole warp.
__device__ float look_back(const unsigned long long* state, long long tile) {
    int lane = threadIdx.x % 32;
    float before = 0.0f;
    for (long long at = tile - 1 - lane;; at -= 32) {
        unsigned int what = PREFIX;
        float value = 0.0f;
        if (at >= 0) {
            unsigned long long word;
            do word = published(state + at);
            while (word >> 32 == 0);
            what = word >> 32;
            value = __uint_as_float((unsigned int)word);
        }
        unsigned int complete = __ballot_sync(0xffffffff, what == PREFIX);
        if (complete && lane > __ffs(complete) - 1) value = 0.0f;
#pragma unroll
        for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
        before += value;
        if (complete) return before;
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
scan(float* __restrict__ output, unsigned long long* state, unsigned int* ticket, const float* __restrict__ input,
     long long n) {
    __shared__ float of_warp[32];
    __shared__ float before_tile;
    __shared__ unsigned int my_ticket;
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    if (t == 0) my_ticket = atomicAdd(ticket, 1);
    __syncthreads();
    long long tile = my_ticket;

    // A warp holds VECTORS rows of 128 neighbours: lane l has four elements of each row.
    long long first = tile * TILE + warp * (32 * ITEMS) + lane * 4;
    float4 v[VECTORS];
    bool whole = (tile + 1) * TILE <= n;
    if (whole) {
#pragma unroll
        for (int r = 0; r < VECTORS; r++) v[r] = __ldcs((const float4*)(input + first + r * 128));
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
    __syncthreads();
    if (warp == 0) {
        float through = warp_scan(lane < BLOCK / 32 ? of_warp[lane] : 0.0f);
        float sum = __shfl_sync(0xffffffff, through, 31);
        if (lane == 0) publish(state + tile, tile ? SUM : PREFIX, sum);
        float before = look_back(state, tile);
        if (lane == 0) {
            if (tile) publish(state + tile, PREFIX, before + sum);
            before_tile = before;
        }
        of_warp[lane] = through;
    }
    __syncthreads();
    float before = before_tile + (warp ? of_warp[warp - 1] : 0.0f);
#pragma unroll
    for (int r = 0; r < VECTORS; r++) {
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
