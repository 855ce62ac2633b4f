// Work whose times teaching material states: matrix products and transposes.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void product_elements(const float* a, const float* b, float* c, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}
__global__ void product_elements_apart(const float* a, const float* b, float* c, int n) {  // a warp's lanes in one column
  int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}
__global__ void product_tiles(const float* a, const float* b, float* c, int n) {
  __shared__ float ta[32][32], tb[32][32];
  int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < n; t += 32) {
    ta[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
    tb[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < 32; k++) sum += ta[threadIdx.y][k] * tb[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
__global__ void transpose_plain(const float* in, float* out, int n) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  out[x * n + y] = in[y * n + x];
}
__global__ void transpose_padded(const float* in, float* out, int n) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8) tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8) out[(y + k) * n + x] = tile[threadIdx.x][threadIdx.y + k];
}

int main() {
  const int n = 1024, m = 4096;
  float *a, *b, *c;
  cudaMalloc(&a, sizeof(float) * m * m);
  cudaMalloc(&b, sizeof(float) * m * m);
  cudaMalloc(&c, sizeof(float) * n * n);
  for (int repeat = 0; repeat < 2; repeat++) {
    product_elements_apart<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(a, b, c, n);
    product_elements<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(a, b, c, n);
    product_tiles<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(a, b, c, n);
    transpose_plain<<<dim3(m / 32, m / 8), dim3(32, 8)>>>(a, b, m);
    transpose_padded<<<dim3(m / 32, m / 32), dim3(32, 8)>>>(a, b, m);
  }
  return cudaDeviceSynchronize() != cudaSuccess;
}
