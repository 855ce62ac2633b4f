// Rung 8: UNROLL loads in flight a thread, and a result that does not vary.
//
// Changed: the loop issues UNROLL independent 16-byte loads before it uses the first. To keep the memory busy, the
// bytes in flight must be latency times bandwidth: about 0.8 us * 4.2 TB/s, 25 KB an SM of an H200.
// The second number of __launch_bounds__ is what makes it happen: without it the compiler saves registers for blocks
// that do not exist, and uses each load before it issues the next but one.
// Changed: every block writes its sum to a place of its own and takes a ticket; the block that takes the last ticket
// adds the sums in a fixed order. The result is the same in every run, and no launch is needed to clear it. (The
// fence makes a block's sum visible before its ticket. `ticket` starts at zero and is left so.)
__device__ float warp_sum(float value) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
    return value;
}

__device__ float block_sum(float value, float* of_warp) {
    int t = threadIdx.x;
    value = warp_sum(value);
    if (t % 32 == 0) of_warp[t / 32] = value;
    __syncthreads();
    return t < 32 ? warp_sum(t < BLOCK / 32 ? of_warp[t] : 0.0f) : 0.0f;
}

extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS_PER_SM)
reduce(float* __restrict__ output, float* partial, unsigned int* ticket, const float* __restrict__ input, long long n) {
    __shared__ float of_warp[BLOCK / 32];
    __shared__ bool last;
    int t = threadIdx.x;
    long long first = blockIdx.x * (long long)BLOCK + t, stride = (long long)gridDim.x * BLOCK;
    const float4* vectors = (const float4*)input;
    float4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
    long long i = first;
    for (; i + (UNROLL - 1) * stride < n / 4; i += UNROLL * stride) {
        float4 v[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) v[u] = __ldcs(vectors + i + u * stride);
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            sum.x += v[u].x;
            sum.y += v[u].y;
            sum.z += v[u].z;
            sum.w += v[u].w;
        }
    }
    for (; i < n / 4; i += stride) {
        float4 v = vectors[i];
        sum.x += v.x;
        sum.y += v.y;
        sum.z += v.z;
        sum.w += v.w;
    }
    if (first < n % 4) sum.x += input[n / 4 * 4 + first];
    float total = block_sum((sum.x + sum.y) + (sum.z + sum.w), of_warp);
    if (t == 0) {
        partial[blockIdx.x] = total;
        __threadfence();
        last = atomicAdd(ticket, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    float rest = 0.0f;
    for (int b = t; b < gridDim.x; b += BLOCK) rest += __ldcg(partial + b);
    total = block_sum(rest, of_warp);
    if (t == 0) {
        *output = total;
        *ticket = 0;
    }
}
