// Rung 4: shuffles, four elements a thread.
//
// Changed: a thread adds up four neighbours (one 16-byte load), a warp scans the 32 sums with five shuffles, and one
// warp scans the sums of the warps: one word a warp in shared memory and two barriers, instead of two barriers a level.
__device__ float warp_scan(float value) {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        float before = __shfl_up_sync(0xffffffff, value, step);
        if (lane >= step) value += before;
    }
    return value;
}

extern "C" __global__ void scan(float* output, float* sums, const float* input, long long n) {
    __shared__ float of_warp[32];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    long long i = (blockIdx.x * (long long)BLOCK + t) * 4;
    float4 v = {0.0f, 0.0f, 0.0f, 0.0f};
    if (i + 3 < n) {
        v = *(const float4*)(input + i);
    } else {
        if (i < n) v.x = input[i];
        if (i + 1 < n) v.y = input[i + 1];
        if (i + 2 < n) v.z = input[i + 2];
    }
    v.y += v.x;
    v.z += v.y;
    v.w += v.z;
    float through = warp_scan(v.w);
    if (lane == 31) of_warp[warp] = through;
    __syncthreads();
    if (warp == 0) of_warp[lane] = warp_scan(lane < BLOCK / 32 ? of_warp[lane] : 0.0f);
    __syncthreads();
    float before = __shfl_up_sync(0xffffffff, through, 1);
    before = (lane ? before : 0.0f) + (warp ? of_warp[warp - 1] : 0.0f);
    v.x += before;
    v.y += before;
    v.z += before;
    v.w += before;
    if (i + 3 < n) {
        *(float4*)(output + i) = v;
    } else {
        if (i < n) output[i] = v.x;
        if (i + 1 < n) output[i + 1] = v.y;
        if (i + 2 < n) output[i + 2] = v.z;
    }
    if (t == BLOCK - 1) sums[blockIdx.x] = v.w;
}

extern "C" __global__ void add(float* output, const float* sums, long long n) {
    if (blockIdx.x == 0) return;
    float before = sums[blockIdx.x - 1];
    for (int item = 0; item < 4; item++) {
        long long i = (blockIdx.x * 4LL + item) * BLOCK + threadIdx.x;
        if (i < n) output[i] += before;
    }
}
