// Rung 1: one atomic addition in global memory a key.
//
// All threads of the card add to the same few words: the L2 cache carries out the additions to one address one after
// the other. Keys outside 0 to bins - 1 are not counted.
extern "C" __global__ void histogram(unsigned int* counts, const int* __restrict__ keys, long long n, int bins) {
    long long i = blockIdx.x * (long long)BLOCK + threadIdx.x;
    if (i < n && (unsigned)keys[i] < (unsigned)bins) atomicAdd(&counts[keys[i]], 1u);
}
