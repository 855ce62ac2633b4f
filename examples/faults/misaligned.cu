// Broken on purpose: 16-byte loads from an address that is a multiple of 4 only.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void copy_float4(const float4* in, float4* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}

int main() {
    const int n = 64;
    float *in, *out;
    cudaMalloc(&in, (4 * n + 1) * sizeof(float));
    cudaMalloc(&out, 4 * n * sizeof(float));
    cudaMemset(in, 0, (4 * n + 1) * sizeof(float));
    copy_float4<<<1, n>>>(reinterpret_cast<float4*>(in + 1), reinterpret_cast<float4*>(out), n);
    std::printf("after the kernel: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
