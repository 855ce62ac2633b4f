// Broken on purpose: the kernel reads an array that was freed before the launch.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void copy(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}

int main() {
    const int n = 1 << 20;
    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMemset(in, 0, n * sizeof(float));
    cudaFree(in);
    copy<<<n / 256, 256>>>(in, out, n);  // a card may let this pass, and give whatever lies there now
    std::printf("after the kernel: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
