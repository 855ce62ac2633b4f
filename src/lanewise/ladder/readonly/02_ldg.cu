// Rung 2: read-only loads.
//
// Changed: `__ldg` (or const __restrict__, where the compiler can see that nothing else points there) says that nobody writes
// to the table while the kernel runs: LDG.CONSTANT, which may be cached without regard to stores. On cards before
// compute capability 5.0 it took another cache, larger than the one that loads had; since then the cache is the same, and so are
// requests and sectors. What is left is freedom for the compiler to move the load.
extern "C" __global__ void __launch_bounds__(BLOCK)
look_up(float* output, const float* input, const float* table, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) output[i] = __ldg(input + i) * __ldg(table + i / 32 % 256) + __ldg(table + i % 256 * 37 % 256);
}
