// Rung 7: rows longer than the registers.
//
// Changed: a block keeps the first KEPT vectors of its row in shared memory and reads only the rest a second time
// (from the L2 cache, where it still is). One pass finds the moments: plain sums within a vector, Chan's formula
// between vectors. Rows are multiples of 16 bytes.
#include <cuda_bf16.h>

constexpr int E = 16 / sizeof(Element);   // elements of a vector

struct alignas(16) Vector {
    Element of[E];
};

__device__ Vector load(const Vector* place) {
    float4 bits = __ldcs((const float4*)place);
    return *(Vector*)&bits;
}

__device__ void store(Vector* place, Vector value) { __stcs((float4*)place, *(float4*)&value); }

// Count, mean and sum of squared deviations of some elements.
struct Moments {
    float count, mean, squares;
};

// Chan's formula: the moments of two sets together.
__device__ Moments combine(Moments a, Moments b) {
    float count = a.count + b.count;
    if (count == 0.0f) return a;
    float off = b.mean - a.mean, share = b.count / count;
    return {count, a.mean + off * share, a.squares + b.squares + off * off * a.count * share};
}

__device__ Moments warp_combine(Moments value) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        Moments other = {__shfl_xor_sync(0xffffffff, value.count, step), __shfl_xor_sync(0xffffffff, value.mean, step),
                         __shfl_xor_sync(0xffffffff, value.squares, step)};
        value = combine(value, other);
    }
    return value;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
layernorm(Element* __restrict__ output, const Element* __restrict__ input, const Element* __restrict__ weight,
          const Element* __restrict__ bias, float epsilon, int columns) {
    extern __shared__ __align__(16) Vector kept[];   // [KEPT]
    __shared__ Moments of_warp[32];
    int t = threadIdx.x, vectors = columns / E;
    const Vector* x = (const Vector*)input + size_t(blockIdx.x) * vectors;
    Vector* y = (Vector*)output + size_t(blockIdx.x) * vectors;
    Moments mine = {0.0f, 0.0f, 0.0f};
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
            float mean = 0.0f, squares = 0.0f;
#pragma unroll
            for (int e = 0; e < E; e++) mean += float(v[u].of[e]);
            mean /= E;
#pragma unroll
            for (int e = 0; e < E; e++) {
                float off = float(v[u].of[e]) - mean;
                squares += off * off;
            }
            mine = combine(mine, {float(E), mean, squares});
        }
    }
    mine = warp_combine(mine);
    if (t % 32 == 0) of_warp[t / 32] = mine;
    __syncthreads();
    mine = warp_combine(t % 32 < BLOCK / 32 ? of_warp[t % 32] : Moments{0.0f, 0.0f, 0.0f});
    float centre = mine.mean, scale = rsqrtf(mine.squares / columns + epsilon);
#pragma unroll 4
    for (int i = t; i < vectors; i += BLOCK) {
        Vector v = i < KEPT ? kept[i] : load(x + i);
        Vector w = ((const Vector*)weight)[i], b = ((const Vector*)bias)[i];
#pragma unroll
        for (int e = 0; e < E; e++)
            v.of[e] = Element((float(v.of[e]) - centre) * scale * float(w.of[e]) + float(b.of[e]));
        store(y + i, v);
    }
}
