// Rung 3: STRIDE elements apart.
//
// Changed: neighbouring lanes have elements STRIDE apart, so a warp touches STRIDE times the sectors, up to one for each lane.
// The other elements of a sector are used by other warps, much later: if they have left the caches by then, the
// sector is fetched again. (Thread i takes element i % rows * STRIDE + i / rows of the array seen as rows of STRIDE.)
extern "C" __global__ void scale(float* __restrict__ y, const float* __restrict__ x, long long n) {
    long long i = blockIdx.x * (long long)BLOCK + threadIdx.x;
    long long rows = (n + STRIDE - 1) / STRIDE;
    long long at = i % rows * STRIDE + i / rows;
    if (i < rows * STRIDE && at < n) y[at] = 2.0f * x[at];
}
