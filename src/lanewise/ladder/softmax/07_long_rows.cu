// Rung 7: rows longer than the registers.
//
// Changed: a block keeps the first KEPT vectors of its row in shared memory and reads only the rest a second time
// (from the L2 cache, where it still is). Maximum and sum come from one online pass, over vectors: the maximum of a
// vector first, so that the sum is rescaled once for its elements. Rows are multiples of 16 bytes.
#include <cuda_bf16.h>

#define LOWEST (-3.402823466e38f)

constexpr int E = 16 / sizeof(Element);   // elements of a vector

struct alignas(16) Vector {
    Element of[E];
};

__device__ Vector load(const Vector* place) {
    float4 bits = __ldcs((const float4*)place);
    return *(Vector*)&bits;
}

__device__ void store(Vector* place, Vector value) { __stcs((float4*)place, *(float4*)&value); }

struct Online {
    float most, sum;
};

__device__ Online combine(Online a, Online b) {
    float most = fmaxf(a.most, b.most);
    return {most, a.sum * __expf(a.most - most) + b.sum * __expf(b.most - most)};
}

__device__ Online warp_combine(Online value) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        Online other = {__shfl_xor_sync(0xffffffff, value.most, step), __shfl_xor_sync(0xffffffff, value.sum, step)};
        value = combine(value, other);
    }
    return value;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
softmax(Element* __restrict__ output, const Element* __restrict__ input, int columns) {
    extern __shared__ __align__(16) Vector kept[];   // [KEPT]
    __shared__ Online of_warp[32];
    int t = threadIdx.x, vectors = columns / E;
    const Vector* x = (const Vector*)input + size_t(blockIdx.x) * vectors;
    Vector* y = (Vector*)output + size_t(blockIdx.x) * vectors;
    Online mine = {LOWEST, 0.0f};
    for (int first = t; first < vectors; first += UNROLL * BLOCK) {
        Vector v[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            if (first + u * BLOCK < vectors) v[u] = x[first + u * BLOCK];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            int i = first + u * BLOCK;
            if (i >= vectors) continue;
            if (i < KEPT) kept[i] = v[u];
            float most = mine.most;
#pragma unroll
            for (int e = 0; e < E; e++) most = fmaxf(most, float(v[u].of[e]));
            float sum = 0.0f;
#pragma unroll
            for (int e = 0; e < E; e++) sum += __expf(float(v[u].of[e]) - most);
            mine = {most, mine.sum * __expf(mine.most - most) + sum};
        }
    }
    mine = warp_combine(mine);
    if (t % 32 == 0) of_warp[t / 32] = mine;
    __syncthreads();
    mine = warp_combine(t % 32 < BLOCK / 32 ? of_warp[t % 32] : Online{LOWEST, 0.0f});
    float scale = 1.0f / mine.sum;
#pragma unroll 4
    for (int i = t; i < vectors; i += BLOCK) {
        Vector v = i < KEPT ? kept[i] : load(x + i);
#pragma unroll
        for (int e = 0; e < E; e++) v.of[e] = Element(__expf(float(v.of[e]) - mine.most) * scale);
        store(y + i, v);
    }
}
