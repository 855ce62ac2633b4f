// One of two sources of a program with separate compilation.
#include "check.h"

extern __device__ int shared_value;
extern __device__ int twice(int);
void launch_second(int*);
extern "C" __global__ void first_module(int* out) { *out = twice(shared_value); }

int main() {
  int value = 7;
  OK(cudaMemcpyToSymbol(shared_value, &value, sizeof value));
  int* out;
  OK(cudaMalloc(&out, 2 * sizeof(int)));
  first_module<<<1, 1>>>(out);
  launch_second(out + 1);
  OK(cudaDeviceSynchronize());
  return failures;
}
