// Broken on purpose: two halves of a block wait at two different barriers, each of which needs all 128 threads.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void exchange(int* values) {
    __shared__ int shared[128];
    int t = threadIdx.x;
    shared[t] = values[t];
    if (t < 64)
        __barrier_sync(1);  // waits for the 64 threads that never come here
    else
        __barrier_sync(2);  // and these wait for the others
    values[t] = shared[127 - t];
}

int main() {
    int* values;
    cudaMalloc(&values, 128 * sizeof(int));
    cudaMemset(values, 0, 128 * sizeof(int));
    exchange<<<1, 128>>>(values);
    std::printf("after the kernel: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
