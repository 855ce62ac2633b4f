// c = a + b, the first CUDA program: one thread per element, neighbours on neighbours. (16 bytes a thread are a
// little faster on a card: copy_float4 in copies.cu shows how.) usage: vector_add [n]
#include "common.cuh"

__global__ void vector_add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];  // the grid is rounded up to whole blocks, so some threads have nothing to do
}

int main(int argc, char** argv) {
    Example example(argc, argv);
    int n = example.size(0, 1 << 20);
    size_t bytes = n * sizeof(float);
    std::vector<float> a = random_floats(n, 1), b = random_floats(n, 2), c(n);

    // The steps of every CUDA program; the other examples leave them to DeviceArray.
    float *device_a, *device_b, *device_c;
    CHECK(cudaMalloc(&device_a, bytes));
    CHECK(cudaMalloc(&device_b, bytes));
    CHECK(cudaMalloc(&device_c, bytes));
    CHECK(cudaMemcpy(device_a, a.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_b, b.data(), bytes, cudaMemcpyHostToDevice));

    vector_add<<<ceil_div(n, 256), 256>>>(device_a, device_b, device_c, n);
    CHECK(cudaGetLastError());

    CHECK(cudaMemcpy(c.data(), device_c, bytes, cudaMemcpyDeviceToHost));  // waits for the kernel
    CHECK(cudaFree(device_a));
    CHECK(cudaFree(device_b));
    CHECK(cudaFree(device_c));

    std::vector<float> expected(n);
    for (int i = 0; i < n; i++) expected[i] = a[i] + b[i];
    example.dump("a", a);
    example.dump("b", b);
    example.check("vector_add", c, expected);
    return example.exit_code();
}
