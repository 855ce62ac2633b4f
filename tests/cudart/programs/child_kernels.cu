// Dynamic parallelism: one kernel launches another. Built with -rdc=true; only the kernel that does it cannot run.
#include <cstdio>

__global__ void child(int *out) { *out = 2; }

__global__ void parent(int *out) { child<<<1, 1>>>(out); }

__global__ void plain(int *out) { *out = 1; }

int main() {
  int *out;
  cudaMalloc(&out, sizeof *out);
  plain<<<1, 1>>>(out);
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  parent<<<1, 1>>>(out);
  printf("%s\n", cudaGetErrorName(cudaGetLastError()));
}
