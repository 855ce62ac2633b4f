// Rung 7: an array of structs of arrays.
//
// Changed: the layout again, in tiles of 32 structs: within a tile all first fields stand together, then all second ones. Each
// access of a warp is contiguous as in rung 6, but the four of a thread lie within 512 bytes, not in four arrays: one
// address and three constants, and one page of memory open at a time. A struct can still be found, moved or sent by its tile.
extern "C" __global__ void scale(float* __restrict__ y, const float* __restrict__ x, long long n) {
    long long i = blockIdx.x * (long long)BLOCK + threadIdx.x;
#pragma unroll
    for (int field = 0; field < 4; field++) {
        long long at = i / 32 * 128 + field * 32 + i % 32;
        if (at < n) y[at] = 2.0f * x[at];
    }
}
