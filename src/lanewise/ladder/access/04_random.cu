// Rung 4: anywhere.
//
// Changed: the element comes from a random permutation. Nearly every lane touches a sector of its own, which nobody else
// uses soon: 32 bytes move for 4 that are wanted, and writes of part of a sector cost the memory a read as well.
extern "C" __global__ void scale(float* __restrict__ y, const float* __restrict__ x, const int* __restrict__ order,
                                 long long n) {
    long long i = blockIdx.x * (long long)BLOCK + threadIdx.x;
    if (i < n) y[order[i]] = 2.0f * x[order[i]];
}
