// Rung 3: one launch whose blocks stay and wait for each other.
//
// Changed: the steps are a loop in the kernel. Between steps all blocks meet at a barrier of our own: each counts itself in
// with an atomic, and waits until the count says that all have come. All blocks must be resident together, so the
// grid is no larger than what the card holds at once. `arrived` starts at zero and is never reset: step s waits for s * blocks.
// __ldcg: a copy in the multiprocessor's own L1 cache could be from two steps ago.
// release and acquire: what a block wrote before it counted itself in is seen by all who read the full count.
extern "C" __global__ void __launch_bounds__(BLOCK)
steps(float* output, float* between, const float* input, unsigned int* arrived, int n, int count) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    for (int s = 0; s < count; s++) {
        const float* from = s == 0 ? input : (count - s) % 2 ? between : output;
        float* to = (count - s) % 2 ? output : between;
        if (i < n) to[i] = 0.5f * (__ldcg(from + i) + __ldcg(from + (i + 1 < n ? i + 1 : 0)));
        __syncthreads();
        if (threadIdx.x == 0) {
            asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrived) : "memory");
            unsigned int seen;
            do {
                asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(seen) : "l"(arrived) : "memory");
            } while (seen < (s + 1) * gridDim.x);
        }
        __syncthreads();
    }
}
