// One of two sources of a program with separate compilation.
#include "check.h"

extern __device__ int shared_value;
extern __device__ int twice(int);
void launch_second();
extern "C" __global__ void first_module(int* out) { *out = twice(shared_value); }

int main() {
  int value = 0;
  OK(cudaMemcpyToSymbol(shared_value, &value, sizeof value));
  first_module<<<1, 1>>>(nullptr);
  launch_second();
  OK(cudaDeviceSynchronize());
  return failures;
}
