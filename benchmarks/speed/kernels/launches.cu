// Many tiny launches: what a launch costs besides the kernel. usage: launches [n]
#include <cstdio>
#include <cstdlib>

__global__ void count(int* total) {
    if (threadIdx.x == 0) *total += 1;
}

int main(int argc, char** argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 1000, result = 0;
    int* total = nullptr;
    if (cudaMalloc(&total, sizeof(int)) != cudaSuccess || cudaMemset(total, 0, sizeof(int)) != cudaSuccess) return 1;
    for (int i = 0; i < n; i++) count<<<1, 32>>>(total);
    if (cudaMemcpy(&result, total, sizeof(int), cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
    std::printf("%d launches counted\n", result);
    return result == n ? 0 : 1;
}
