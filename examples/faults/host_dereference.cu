// Broken on purpose: host code reads through a pointer to device memory instead of copying with cudaMemcpy.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void fill(float* values, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] = i;
}

int main() {
    const int n = 256;
    float* values;
    cudaMalloc(&values, n * sizeof(float));
    fill<<<1, n>>>(values, n);
    cudaDeviceSynchronize();
    std::printf("the last value is %g\n", values[n - 1]);  // the program ends here
}
