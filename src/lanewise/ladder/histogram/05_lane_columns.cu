// Rung 5: a column of counters a lane, blocks that stay, 16-byte loads.
//
// Changed: a bin has COLUMNS counters side by side, and lane l adds to column l % COLUMNS. With 32 columns each lane
// has a bank of its own: one wavefront an addition whatever the keys are, random or all equal, and nothing to match.
// The warps of a block share the table, since their additions are atomic anyway.
// Changed: the grid is what the card holds; a thread has UNROLL loads of four keys in flight. The tables are added up
// once a block, not once every few thousand keys.
// Keys outside the bins go to one more bin that nobody reads: a minimum costs less than a branch for each key.
// Adding a constant without using the old value compiles to ATOMS.POPC.INC, the fast form.
extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS_PER_SM)
histogram(unsigned int* counts, const int* __restrict__ keys, long long n, int bins) {
    extern __shared__ unsigned int table[];   // [bins + 1][COLUMNS]
    int t = threadIdx.x;
    for (int b = t; b < (bins + 1) * COLUMNS; b += BLOCK) table[b] = 0;
    __syncthreads();
    unsigned int* column = table + t % COLUMNS;
    auto count = [&](int key) { atomicAdd(&column[min((unsigned)key, (unsigned)bins) * COLUMNS], 1u); };
    const int4* vectors = (const int4*)keys;
    long long first = blockIdx.x * (long long)BLOCK + t, stride = (long long)gridDim.x * BLOCK;
    long long i = first;
    for (; i + (UNROLL - 1) * stride < n / 4; i += UNROLL * stride) {
        int4 v[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) v[u] = __ldcs(vectors + i + u * stride);
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            count(v[u].x);
            count(v[u].y);
            count(v[u].z);
            count(v[u].w);
        }
    }
    for (; i < n / 4; i += stride) {
        int4 v = vectors[i];
        count(v.x);
        count(v.y);
        count(v.z);
        count(v.w);
    }
    if (first < n % 4) count(keys[n / 4 * 4 + first]);
    __syncthreads();
    for (int first_bin = 0; first_bin < bins; first_bin += BLOCK / COLUMNS) {
        int b = first_bin + t / COLUMNS;
        unsigned int sum = b < bins ? table[b * COLUMNS + t % COLUMNS] : 0;
#pragma unroll
        for (int step = COLUMNS / 2; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
        if (t % COLUMNS == 0 && sum) atomicAdd(&counts[b], sum);
    }
}
