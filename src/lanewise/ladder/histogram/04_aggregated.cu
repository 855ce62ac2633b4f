// Rung 4: equal keys of a warp counted first.
//
// Changed: the lanes that hold the same key find each other (`__match_any_sync`), and one of them adds their number.
// With all keys equal one addition stands for 32; with random keys there is little to gather, and the matching, which
// takes a turn for each distinct key, costs more than it saves.
constexpr int WARPS = BLOCK / 32;

extern "C" __global__ void histogram(unsigned int* counts, const int* __restrict__ keys, long long n, int bins) {
    extern __shared__ unsigned int tables[];   // [WARPS][bins]
    for (int b = threadIdx.x; b < WARPS * bins; b += BLOCK) tables[b] = 0;
    __syncthreads();
    int lane = threadIdx.x % 32;
    unsigned int* table = tables + threadIdx.x / 32 * bins;
    long long first = blockIdx.x * (long long)(BLOCK * ITEMS) + threadIdx.x;
    for (int item = 0; item < ITEMS; item++) {
        long long i = first + item * BLOCK;
        int key = i < n ? keys[i] : -1;
        unsigned int same = __match_any_sync(0xffffffff, key);
        if ((unsigned)key < (unsigned)bins && lane == __ffs(same) - 1) atomicAdd(&table[key], __popc(same));
    }
    __syncthreads();
    for (int b = threadIdx.x; b < bins; b += BLOCK) {
        unsigned int sum = 0;
        for (int warp = 0; warp < WARPS; warp++) sum += tables[warp * bins + b];
        if (sum) atomicAdd(&counts[b], sum);
    }
}
