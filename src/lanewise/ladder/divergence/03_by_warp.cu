// Rung 3: the same work, sorted.
//
// Changed: a warp takes 32 elements with the same number of steps, 32 places apart. Its lanes leave the loop together, and
// warps with little work are done early: half of the instructions. The price: a warp touches 32 sectors for each access instead
// of 4. (The block's other warps use the rest of them soon; where the number of steps is known only at run time,
// elements are sorted or queued to the same end.)
extern "C" __global__ void iterate(float* __restrict__ y, const float* __restrict__ x, int n) {
    int steps = threadIdx.x / 32, lane = threadIdx.x % 32;   // the block has 1024 threads
    int i = blockIdx.x * 1024 + lane * 32 + steps;
    if (i >= n) return;
    float v = x[i];
#pragma unroll 1
    for (int step = 0; step <= steps; step++) v = 0.75f * v + 0.25f;
    y[i] = v;
}
