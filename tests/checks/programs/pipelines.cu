// Mbarriers and asynchronous copies.
#include <cuda/barrier>
#include <cuda_pipeline.h>

// launch: <<<1, 64>>> int[64]
__global__ void barrier_object(int* a) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ int s[64];
  if (threadIdx.x == 0) init(&bar, 64);
  __syncthreads();
  s[threadIdx.x] = threadIdx.x;
  bar.arrive_and_wait();
  a[threadIdx.x] = s[63 - threadIdx.x];
}
// launch: <<<1, 64>>> int[64]
__global__ void barrier_object_read_before_the_wait(int* a) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ int s[64];
  if (threadIdx.x == 0) init(&bar, 64);
  __syncthreads();
  s[threadIdx.x] = threadIdx.x;
  auto token = bar.arrive();
  a[threadIdx.x] = s[63 - threadIdx.x];  // expect: race
  bar.wait(std::move(token));
}
// launch: <<<1, 64>>> int[64] iota[64]
__global__ void asynchronous_copy(int* a, const int* in) {
  __shared__ int s[64];
  __pipeline_memcpy_async(&s[threadIdx.x], &in[threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  a[threadIdx.x] = s[63 - threadIdx.x];
}
// launch: <<<1, 64>>> int[64] iota[64]
__global__ void asynchronous_copy_without_barrier(int* a, const int* in) {
  __shared__ int s[64];
  __pipeline_memcpy_async(&s[threadIdx.x], &in[threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  a[threadIdx.x] = s[63 - threadIdx.x];  // expect: race
}
