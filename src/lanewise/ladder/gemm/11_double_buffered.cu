// Rung 11: double buffering.
//
// Changed: two tiles of A and of B in shared memory. The next tile's vectors are loaded into registers before this one is
// multiplied and stored to the other buffer after: the multiplications cover the loads' latency, and one barrier a
// tile is left, since nobody reads what is written. The price: registers for the vectors on their way, twice the shared memory.
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
    __shared__ __align__(16) float tile_a[2][BK][BM + 4], tile_b[2][BK][BN];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    // Bits of the lane: 0 and 2 say which of four columns of vectors, 1, 3 and 4 which of eight rows.
    int lane_x = (lane & 1) | (lane >> 1 & 2), lane_y = (lane >> 1 & 1) | (lane >> 2 & 6);
    int row = warp / (BN / 32) * 64 + lane_y * 4, column = warp % (BN / 32) * 32 + lane_x * 4;   // within the tile
    int first_row = blockIdx.y * BM, first_column = blockIdx.x * BN;
    float sum[8][8] = {};
    constexpr int OF_A = BM * BK / 4 / THREADS, OF_B = BK * BN / 4 / THREADS;   // vectors a thread
    float4 next_a[OF_A], next_b[OF_B];
    auto load = [&](int first) {
#pragma unroll
        for (int j = 0; j < OF_A; j++) {
            int i = t + j * THREADS, from_row = first_row + i / (BK / 4), depth = first + i % (BK / 4) * 4;
            next_a[j] = {0.0f, 0.0f, 0.0f, 0.0f};
            if (from_row < m && depth < k) next_a[j] = four(a + size_t(from_row) * k + depth, k - depth);
        }
#pragma unroll
        for (int j = 0; j < OF_B; j++) {
            int i = t + j * THREADS, depth = first + i / (BN / 4), from_column = first_column + i % (BN / 4) * 4;
            next_b[j] = {0.0f, 0.0f, 0.0f, 0.0f};
            if (depth < k && from_column < n) next_b[j] = four(b + size_t(depth) * n + from_column, n - from_column);
        }
    };
    auto store = [&](int buffer) {
#pragma unroll
        for (int j = 0; j < OF_A; j++) {
            int i = t + j * THREADS, to_row = i / (BK / 4), depth = i % (BK / 4) * 4;
            tile_a[buffer][depth][to_row] = next_a[j].x;
            tile_a[buffer][depth + 1][to_row] = next_a[j].y;
            tile_a[buffer][depth + 2][to_row] = next_a[j].z;
            tile_a[buffer][depth + 3][to_row] = next_a[j].w;
        }
#pragma unroll
        for (int j = 0; j < OF_B; j++) {
            int i = t + j * THREADS;
            *(float4*)&tile_b[buffer][i / (BN / 4)][i % (BN / 4) * 4] = next_b[j];
        }
    };
    load(0);
    store(0);
    __syncthreads();
    for (int first = 0, buffer = 0; first < k; first += BK, buffer ^= 1) {
        if (first + BK < k) load(first + BK);
#pragma unroll
        for (int i = 0; i < BK; i++) {
            float of_a[8], of_b[8];
            *(float4*)of_a = *(float4*)&tile_a[buffer][i][row];
            *(float4*)(of_a + 4) = *(float4*)&tile_a[buffer][i][row + 32];
            *(float4*)of_b = *(float4*)&tile_b[buffer][i][column];
            *(float4*)(of_b + 4) = *(float4*)&tile_b[buffer][i][column + 16];
#pragma unroll
            for (int r = 0; r < 8; r++)
#pragma unroll
                for (int s = 0; s < 8; s++) sum[r][s] += of_a[r] * of_b[s];
        }
        if (first + BK < k) store(buffer ^ 1);
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
