// Rung 5: where the data ends.
//
// Changed: a thread takes ITEMS elements, a grid apart; the test for the end is in the loop. `i < n` is the same for all lanes
// of a warp except in the one warp that the end falls into: of all the tests one diverges, and only where n is not a
// multiple of 32. A test costs an instruction, not a divergence.
extern "C" __global__ void iterate(float* __restrict__ y, const float* __restrict__ x, int n) {
    int grid = gridDim.x * BLOCK;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += grid) {
        float v = x[i], kept = 0.0f;
#pragma unroll
        for (int step = 0; step < 32; step++) {
            v = 0.75f * v + 0.25f;
            kept = step == i % 32 ? v : kept;
        }
        y[i] = kept;
    }
}
