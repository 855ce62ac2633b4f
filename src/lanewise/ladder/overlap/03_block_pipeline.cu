// Rung 3: the same overlap within a block.
//
// Changed: one warp of a block (the producer) copies the next tiles to shared memory with cp.async, the others (the
// consumers) compute on what has arrived, as the streams do with copies and kernels. A ring of STAGES tiles; two *mbarriers*
// a stage say that its tile is `full` (the copies of the producer's lanes have arrived: cp.async.mbarrier.arrive) and that it
// is `empty` again (every consumer has read its elements). A block takes tiles b, b + grid, ... to the end.
constexpr int CONSUMERS = BLOCK - 32, TILE = CONSUMERS;

__device__ unsigned int shared_address(const void* pointer) { return (unsigned int)__cvta_generic_to_shared(pointer); }

__device__ void arrive(unsigned int barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ void wait(unsigned int barrier, unsigned int parity) {
    asm volatile(
        "{\n .reg .pred done;\n"
        "again: mbarrier.test_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        " @!done bra again;\n}" ::"r"(barrier),
        "r"(parity)
        : "memory");
}

extern "C" __global__ void __launch_bounds__(BLOCK)
rounds(float* __restrict__ output, const float* __restrict__ input, long long first, long long count) {
    __shared__ float ring[STAGES][TILE];
    __shared__ unsigned long long full[STAGES], empty[STAGES];
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(shared_address(full + s)) : "memory");
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(empty + s)), "r"(CONSUMERS)
                         : "memory");
        }
    }
    __syncthreads();
    long long tiles = (count + TILE - 1) / TILE;
    int stage = 0;
    unsigned int parity = 0;
    if (threadIdx.x < 32) {
        for (long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            wait(shared_address(empty + stage), parity ^ 1);   // the first round finds every place free
            for (int j = threadIdx.x; j < TILE; j += 32) {
                long long i = tile * TILE + j;
                int size = i < count ? 4 : 0;
                asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(&ring[stage][j])),
                             "l"(input + (i < count ? first + i : 0)), "r"(size)
                             : "memory");
            }
            asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(full + stage))
                         : "memory");
            if (++stage == STAGES) stage = 0, parity ^= 1;
        }
    } else {
        int j = threadIdx.x - 32;
        for (long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            wait(shared_address(full + stage), parity);
            float v = fabsf(ring[stage][j]);
            arrive(shared_address(empty + stage));
            for (int r = 0; r < ROUNDS; r++) v = 0.5f * v + 0.25f / (1.0f + v);
            if (tile * TILE + j < count) output[first + tile * TILE + j] = v;
            if (++stage == STAGES) stage = 0, parity ^= 1;
        }
    }
}
