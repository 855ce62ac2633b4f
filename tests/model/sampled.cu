// Uniform kernels: each block does what all others do.
#include <cuda_runtime.h>

__global__ void add(const float* a, const float* b, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = a[i] + b[i];
}
__global__ void strided(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i * 8];
}
__global__ void neighbours(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = -2; k <= 2; k++) sum += in[min(max(i + k, 0), n - 1)];
    out[i] = sum;
}
__global__ void transpose(const float* in, float* out, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    out[x * n + y] = in[y * n + x];
}
__global__ void product(const float* a, const float* b, float* c, int n) {
    __shared__ float ta[16][16], tb[16][16];
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        ta[y][x] = a[row * n + k + x];
        tb[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int j = 0; j < 16; j++) sum += ta[y][j] * tb[j][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
__global__ void count(const int* in, int* bins) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&bins[(in[i] ^ i * 37) & 255], 1);
}
// Registers that do not fit 32 are kept in local memory.
__global__ void __launch_bounds__(1024, 2) spilled(const float* in, float* out, int n) {
    float r[48];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 48; k++) r[k] = in[(i + k * 1024) & (n - 1)];
    float s = 0;
#pragma unroll
    for (int k = 0; k < 48; k++) s += r[k] * r[47 - k] + r[k * 7 % 48];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 48; k++) s = s * 0.5f + r[k] * s;
    out[i] = s;
}

int main() {
    const int n = 1 << 18;
    float *a, *b, *c;
    cudaMalloc(&a, 8 * n * sizeof(float));
    cudaMalloc(&b, 8 * n * sizeof(float));
    cudaMalloc(&c, 8 * n * sizeof(float));
    cudaMemset(a, 0, 8 * n * sizeof(float));
    add<<<8 * n / 256, 256>>>(a, b, c);
    strided<<<n / 256, 256>>>(a, c);
    neighbours<<<n / 256, 256>>>(a, c, n);
    transpose<<<dim3(16, 64), dim3(32, 8)>>>(a, c, 512);
    product<<<dim3(24, 24), dim3(16, 16)>>>(a, b, c, 384);
    count<<<n / 256, 256>>>((int*)a, (int*)c);
    spilled<<<128, 1024>>>(a, c, n);
    return cudaDeviceSynchronize();
}
