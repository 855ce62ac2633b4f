// Rung 9: short sums in float, long ones in double.
//
// A thread that adds thousands of floats to one float loses bits at each addition: the error grows with n, to twice
// that of torch's sum at 1 GiB (docs/ladder/reduce.md).
//
// Changed: the UNROLL vectors of a round are added in float, pairs first, and only that goes to a thread's four sums,
// which are double: one conversion and one double addition for UNROLL elements, which even a card with a thirty-second of
// its units for double has time for beside its memory. Blocks, and the last block over all of them, add in double too;
// the result is rounded to float once. What is left is about the error of that rounding, whatever n is.
__device__ double warp_sum(double value) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
    return value;
}

__device__ double block_sum(double value, double* of_warp) {
    int t = threadIdx.x;
    value = warp_sum(value);
    if (t % 32 == 0) of_warp[t / 32] = value;
    __syncthreads();
    return t < 32 ? warp_sum(t < BLOCK / 32 ? of_warp[t] : 0.0) : 0.0;
}

__device__ float4 operator+(float4 a, float4 b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }

extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS_PER_SM)
reduce(float* __restrict__ output, double* partial, unsigned int* ticket, const float* __restrict__ input, long long n) {
    __shared__ double of_warp[BLOCK / 32];
    __shared__ bool last;
    int t = threadIdx.x;
    long long first = blockIdx.x * (long long)BLOCK + t, stride = (long long)gridDim.x * BLOCK;
    const float4* vectors = (const float4*)input;
    double x = 0.0, y = 0.0, z = 0.0, w = 0.0;
    auto add = [&](float4 v) { x += v.x, y += v.y, z += v.z, w += v.w; };
    long long i = first;
    for (; i + (UNROLL - 1) * stride < n / 4; i += UNROLL * stride) {
        float4 v[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) v[u] = __ldcs(vectors + i + u * stride);
#pragma unroll
        for (int apart = 1; apart < UNROLL; apart *= 2)
#pragma unroll
            for (int u = 0; u + apart < UNROLL; u += 2 * apart) v[u] = v[u] + v[u + apart];
        add(v[0]);
    }
    for (; i < n / 4; i += stride) add(vectors[i]);
    if (first < n % 4) x += input[n / 4 * 4 + first];
    double total = block_sum((x + y) + (z + w), of_warp);
    if (t == 0) {
        partial[blockIdx.x] = total;
        __threadfence();
        last = atomicAdd(ticket, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    double rest = 0.0;
    for (int b = t; b < gridDim.x; b += BLOCK) rest += __ldcg(partial + b);
    total = block_sum(rest, of_warp);
    if (t == 0) {
        *output = float(total);
        *ticket = 0;
    }
}
