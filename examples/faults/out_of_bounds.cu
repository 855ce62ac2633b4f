// Broken on purpose: the grid is rounded up to whole blocks, and the check `i < n` is missing.
// The launch fails; every later CUDA call of the program fails with the same error.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void scale(float* values, float factor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    values[i] *= factor;  // threads 1000 to 1023 are beyond the end
}

int main() {
    const int n = 1000;
    float* values;
    cudaMalloc(&values, n * sizeof(float));
    cudaMemset(values, 0, n * sizeof(float));
    scale<<<(n + 255) / 256, 256>>>(values, 2.0f);
    std::printf("after the kernel: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    std::printf("after the next call: %s\n", cudaGetErrorString(cudaFree(values)));
}
