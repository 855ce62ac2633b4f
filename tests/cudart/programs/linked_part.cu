// The other source.
__device__ int shared_value = 5;
__device__ int twice(int x) { return 2 * x; }
extern "C" __global__ void second_module(int* out) { *out = twice(shared_value); }
void launch_second(int* out) { second_module<<<1, 1>>>(out); }
