// Broken on purpose: a tile comes by a bulk copy, and the mbarrier is told to expect half of its bytes.
#include <cuda_runtime.h>

#include <cstdio>

constexpr int TILE = 256;

__device__ unsigned shared_address(const void* pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }

__device__ void expect(void* mbarrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(mbarrier)), "r"(bytes));
}

__device__ void fetch(void* target, const void* source, unsigned bytes, void* mbarrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(shared_address(target)), "l"(source), "r"(bytes), "r"(shared_address(mbarrier)) : "memory");
}

__device__ bool try_wait(void* mbarrier, unsigned parity) {
    unsigned done;
    asm volatile("{\n .reg .pred p;\n mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done) : "r"(shared_address(mbarrier)), "r"(parity) : "memory");
    return done;
}

__global__ void sum_tile(float* sum, const float* values) {
    __shared__ alignas(128) float tile[TILE];
    __shared__ unsigned long long arrived;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(&arrived)));
        expect(&arrived, TILE * 2);  // of 4 bytes each
        fetch(tile, values, TILE * 4, &arrived);
    }
    __syncthreads();
    while (!try_wait(&arrived, 0)) {}
    atomicAdd(sum, tile[threadIdx.x]);
}

int main() {
    float *sum, *values;
    cudaMalloc(&sum, sizeof(float));
    cudaMalloc(&values, TILE * sizeof(float));
    cudaMemset(sum, 0, sizeof(float));
    cudaMemset(values, 0, TILE * sizeof(float));
    sum_tile<<<1, TILE>>>(sum, values);
    std::printf("after the kernel: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
