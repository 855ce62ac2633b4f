// Rung 1: a launch for each step.
//
// A step takes the mean of each element and its right neighbour, on a ring of n elements. A step needs the whole step before:
// the end of a launch is the only barrier between blocks that costs no thought, and two to four microseconds of the host's time
// and one of the card's. The arrays are small, so the card waits for its work most of the time.
extern "C" __global__ void __launch_bounds__(BLOCK)
step(float* __restrict__ to, const float* __restrict__ from, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) to[i] = 0.5f * (from[i] + from[i + 1 < n ? i + 1 : 0]);
}
