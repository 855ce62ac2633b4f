// Shared memory has 32 banks of 4 bytes: lanes that need different words of one bank wait for each other.
// usage: banks [n]
#include "common.cuh"

constexpr int THREADS = 256;

// Lane i uses word i * STRIDE. The conflict is gcd(STRIDE, 32)-way: none for odd strides, 32-way for 32.
// Each kernel reverses every block of THREADS elements; only the layout in shared memory differs.
template <int STRIDE>
__device__ void reverse(const float* in, float* out, int n) {
    __shared__ float words[THREADS * STRIDE];
    int first = blockIdx.x * THREADS, t = threadIdx.x;
    int count = min(THREADS, n - first);  // the last block may have fewer
    if (t < count) words[t * STRIDE] = in[first + t];
    __syncthreads();
    if (t < count) out[first + t] = words[(count - 1 - t) * STRIDE];
}

__global__ void banks_stride_1(const float* in, float* out, int n) { reverse<1>(in, out, n); }
__global__ void banks_stride_2(const float* in, float* out, int n) { reverse<2>(in, out, n); }
__global__ void banks_stride_3(const float* in, float* out, int n) { reverse<3>(in, out, n); }
__global__ void banks_stride_8(const float* in, float* out, int n) { reverse<8>(in, out, n); }
__global__ void banks_stride_32(const float* in, float* out, int n) { reverse<32>(in, out, n); }
__global__ void banks_stride_33(const float* in, float* out, int n) { reverse<33>(in, out, n); }

// One word for all lanes is no conflict but a broadcast.
__global__ void banks_broadcast(const float* in, float* out, int n) {
    __shared__ float words[THREADS];
    int i = blockIdx.x * THREADS + threadIdx.x;
    words[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    if (i < n) out[i] = words[0];
}

// 16 bytes per lane are served 8 lanes at a time: 4 passes, which is as good as it gets, and no conflict.
__global__ void banks_float4(const float* in, float* out, int n) {
    __shared__ float4 words[THREADS / 4];
    int first = blockIdx.x * THREADS, t = threadIdx.x;
    float* floats = reinterpret_cast<float*>(words);
    floats[t] = first + t < n ? in[first + t] : 0;
    __syncthreads();
    if (t >= THREADS / 4) return;
    float4 four = words[t];
    float values[4] = {four.x, four.y, four.z, four.w};
    for (int i = 0; i < 4; i++)
        if (first + 4 * t + i < n) out[first + 4 * t + i] = values[i];
}

int main(int argc, char** argv) {
    Example example(argc, argv);
    int n = example.size(0, 1 << 14);
    std::vector<float> in = random_floats(n, 1), reversed(n), first(n);
    for (int i = 0; i < n; i++) {
        int start = i / THREADS * THREADS, end = std::min(n, start + THREADS);
        reversed[i] = in[start + end - 1 - i];
        first[i] = in[start];
    }
    DeviceArray<float> device_in(in), device_out(n);
    example.dump("in", in);
    auto run = [&](const char* name, auto kernel, const std::vector<float>& expected) {
        device_out.clear();
        kernel<<<ceil_div(n, THREADS), THREADS>>>(device_in.data, device_out.data, n);
        finish();
        example.check(name, device_out.download(), expected);
    };
    run("banks_stride_1", banks_stride_1, reversed);
    run("banks_stride_2", banks_stride_2, reversed);
    run("banks_stride_3", banks_stride_3, reversed);
    run("banks_stride_8", banks_stride_8, reversed);
    run("banks_stride_32", banks_stride_32, reversed);
    run("banks_stride_33", banks_stride_33, reversed);
    run("banks_broadcast", banks_broadcast, first);
    run("banks_float4", banks_float4, in);
    return example.exit_code();
}
