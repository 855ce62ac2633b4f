// Rung 4: no branch at all.
//
// Changed: every lane takes all 32 steps and keeps the value of the one it needs by a select. Nothing diverges and the
// loop is unrolled: no counter, no branch. All lanes work until the end as they do in rung 2, only cheaper. It pays where the
// bodies are short; an `if` with a few instructions in each arm the compiler turns into this by itself.
extern "C" __global__ void iterate(float* __restrict__ y, const float* __restrict__ x, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    float v = x[i], kept = 0.0f;
#pragma unroll
    for (int step = 0; step < 32; step++) {
        v = 0.75f * v + 0.25f;
        kept = step == i % 32 ? v : kept;
    }
    y[i] = kept;
}
