// Broken on purpose: the kernel waits for a flag that nobody sets.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void wait_for(volatile int* flag, int* result) {
    while (*flag == 0) {
    }
    *result = *flag;
}

int main() {
    int* memory;
    cudaMalloc(&memory, 2 * sizeof(int));
    cudaMemset(memory, 0, 2 * sizeof(int));
    wait_for<<<1, 1>>>(memory, memory + 1);
    std::printf("after the kernel: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
