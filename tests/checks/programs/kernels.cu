// Kernels as they are written in earnest: reductions, scans, queues, pipelines, matrix tiles.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>
namespace cg = cooperative_groups;
// launch: <<<2, 256>>> int[512] int[2]
__global__ void reduce_reads_too_many_warps(int* in, int* out) {
  __shared__ int s[32];
  int t = threadIdx.x, v = in[blockIdx.x * 256 + t];
  for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
  if (t % 32 == 0) s[t / 32] = v;
  __syncthreads();
  if (t < 32) {
    v = s[t];
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
    if (t == 0) out[blockIdx.x] = v;  // expect: uninitialised
    if (v > 100) out[blockIdx.x] = 3;  // expect: uninitialised
  }
}
// launch: <<<2, 256>>> int[512] int[2]
__global__ void reduce_shuffle(int* in, int* out) {
  __shared__ int s[8];
  int t = threadIdx.x, v = in[blockIdx.x * 256 + t];
  for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
  if (t % 32 == 0) s[t / 32] = v;
  __syncthreads();
  if (t < 32) {
    v = t < 8 ? s[t] : 0;
    for (int d = 4; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
    if (t == 0) out[blockIdx.x] = v;
  }
}
// launch: <<<2, 256>>> int[512] int[2]
__global__ void reduce_shuffle_no_barrier(int* in, int* out) {
  __shared__ int s[8];
  int t = threadIdx.x, v = in[blockIdx.x * 256 + t];
  for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
  if (t % 32 == 0) s[t / 32] = v;  // expect: race
  if (t < 32) {
    v = t < 8 ? s[t] : 0;  // expect: race
    for (int d = 4; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
    if (t == 0) out[blockIdx.x] = v;
  }
}
// launch: <<<1, 128>>> int[256] int[256]
__global__ void blelloch(int* in, int* out) {
  __shared__ int s[256];
  int t = threadIdx.x, o = 1;
  s[2 * t] = in[2 * t];
  s[2 * t + 1] = in[2 * t + 1];
  for (int d = 128; d > 0; d /= 2) {
    __syncthreads();
    if (t < d) s[o * (2 * t + 2) - 1] += s[o * (2 * t + 1) - 1];
    o *= 2;
  }
  if (t == 0) s[255] = 0;
  for (int d = 1; d < 256; d *= 2) {
    o /= 2;
    __syncthreads();
    if (t < d) {
      int a = o * (2 * t + 1) - 1, b = o * (2 * t + 2) - 1, v = s[a];
      s[a] = s[b];
      s[b] += v;
    }
  }
  __syncthreads();
  out[2 * t] = s[2 * t];
  out[2 * t + 1] = s[2 * t + 1];
}
// launch: <<<4, 64>>> iota[256] int[16]
__global__ void histogram_private_merge_no_atomic(const int* in, int* bins) {
  __shared__ int s[16];
  if (threadIdx.x < 16) s[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&s[in[blockIdx.x * 64 + threadIdx.x] % 16], 1);
  __syncthreads();
  if (threadIdx.x < 16) bins[threadIdx.x] += s[threadIdx.x];  // expect: race
}
// launch: <<<4, 64>>> iota[256] int[16]
__global__ void histogram_private(const int* in, int* bins) {
  __shared__ int s[16];
  if (threadIdx.x < 16) s[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&s[in[blockIdx.x * 64 + threadIdx.x] % 16], 1);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}
// launch: <<<2, 64>>> int[64] int[4]
__global__ void queue_without_publish(int* items, int* head) {
  if (blockIdx.x == 0) {
    items[threadIdx.x] = threadIdx.x;  // expect: race
    __syncthreads();
    if (threadIdx.x == 0) atomicExch(head, 64);
  } else {
    if (threadIdx.x == 0) while (atomicAdd(head, 0) == 0) {}
    __syncthreads();
    atomicAdd(head + 1, items[threadIdx.x]);  // expect: race
  }
}
// launch: <<<2, 64>>> int[64] int[4]
__global__ void queue_with_cuda_atomic(int* items, int* head) {
  cuda::atomic_ref<int, cuda::thread_scope_device> h(*head);
  if (blockIdx.x == 0) {
    items[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) h.store(64, cuda::std::memory_order_release);
  } else {
    if (threadIdx.x == 0) while (h.load(cuda::std::memory_order_acquire) == 0) {}
    __syncthreads();
    atomicAdd(head + 1, items[threadIdx.x]);
  }
}
// launch: <<<2, 64>>> int[64] int[4]
__global__ void queue_with_block_scope(int* items, int* head) {
  cuda::atomic_ref<int, cuda::thread_scope_block> h(*head);
  if (blockIdx.x == 0) {
    items[threadIdx.x] = threadIdx.x;  // expect: race
    __syncthreads();
    if (threadIdx.x == 0) h.store(64, cuda::std::memory_order_release);  // expect: race
  } else {
    if (threadIdx.x == 0) while (h.load(cuda::std::memory_order_acquire) == 0) {}  // expect: race
    __syncthreads();
    atomicAdd(head + 1, items[threadIdx.x]);  // expect: race
  }
}
// launch: <<<2, 64>>> int[64] int[4]
__global__ void queue_relaxed(int* items, int* head) {
  cuda::atomic_ref<int, cuda::thread_scope_device> h(*head);
  if (blockIdx.x == 0) {
    items[threadIdx.x] = threadIdx.x;  // expect: race
    __syncthreads();
    if (threadIdx.x == 0) h.store(64, cuda::std::memory_order_relaxed);
  } else {
    if (threadIdx.x == 0) while (h.load(cuda::std::memory_order_relaxed) == 0) {}
    __syncthreads();
    atomicAdd(head + 1, items[threadIdx.x]);  // expect: race
  }
}
// launch: <<<1, 128>>> int[128] int[64]
__global__ void specialised(const int* in, int* out) {
  __shared__ int s[64];
  int t = threadIdx.x % 64;
  for (int k = 0; k < 2; k++) {
    if (threadIdx.x < 64) {
      asm volatile("bar.sync 2, 128;" ::: "memory");
      s[t] = in[64 * k + t];
      asm volatile("bar.arrive 1, 128;" ::: "memory");
    } else {
      asm volatile("bar.arrive 2, 128;" ::: "memory");
      asm volatile("bar.sync 1, 128;" ::: "memory");
      out[t] += s[63 - t];
    }
  }
}
// launch: <<<1, 64>>> int[64] int[8]
__global__ void group_reduce(const int* in, int* out) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  __shared__ int s[2];
  int v = cg::reduce(tile, in[threadIdx.x], cg::plus<int>());
  if (tile.thread_rank() == 0) s[tile.meta_group_rank()] = v;
  block.sync();
  if (block.thread_rank() == 0) out[0] = s[0] + s[1];
}
// launch: <<<1, 64>>> int[64] int[8]
__global__ void group_tile_sync_for_block(const int* in, int* out) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  __shared__ int s[2];
  int v = cg::reduce(tile, in[threadIdx.x], cg::plus<int>());
  if (tile.thread_rank() == 0) s[tile.meta_group_rank()] = v;  // expect: race
  tile.sync();
  if (block.thread_rank() == 0) out[0] = s[0] + s[1];  // expect: race
}
// launch: <<<1, 64>>> int[64] int[64]
__global__ void coalesced_counter(const int* in, int* out) {
  if (in[threadIdx.x] == 0 && threadIdx.x % 3) {
    auto active = cg::coalesced_threads();
    int base;
    if (active.thread_rank() == 0) base = atomicAdd(out, active.size());
    base = active.shfl(base, 0);
    out[1 + base + active.thread_rank()] = threadIdx.x;
  }
}
// launch: <<<1, 64>>> int[64] int[64]
__global__ void coalesced_counter_off_by_one(const int* in, int* out) {
  if (in[threadIdx.x] == 0) {
    auto active = cg::coalesced_threads();
    int base;
    if (active.thread_rank() == 0) base = atomicAdd(out, active.size());
    base = active.shfl(base, 0);
    out[1 + base + active.thread_rank()] = threadIdx.x;  // expect: bounds
  }
}
// launch: <<<4, 64>>> int[8] int[8] int[8]
__global__ void look_back_no_fence(int* sums, int* flags, int* out) {
  __shared__ int total;
  int b = blockIdx.x;
  if (threadIdx.x == 0) {
    int before = 0;
    if (b > 0) {
      while (atomicAdd(&flags[b - 1], 0) == 0) {}
      before = sums[b - 1];  // expect: race
    }
    sums[b] = before + 1;  // expect: race
    atomicExch(&flags[b], 1);
    total = before;
  }
  __syncthreads();
  if (threadIdx.x == 0) out[b] = total;
}
// launch: <<<4, 64>>> int[8] int[8] int[8]
__global__ void look_back(int* sums, int* flags, int* out) {
  __shared__ int total;
  int b = blockIdx.x;
  if (threadIdx.x == 0) {
    int before = 0;
    if (b > 0) {
      while (atomicAdd(&flags[b - 1], 0) == 0) {}
      __threadfence();
      before = sums[b - 1];
    }
    sums[b] = before + 1;
    __threadfence();
    atomicExch(&flags[b], 1);
    total = before;
  }
  __syncthreads();
  if (threadIdx.x == 0) out[b] = total;
}
// launch: <<<4, 64>>> int[8] int[8] int[8]
__global__ void look_back_packed(unsigned long long* state, int* unused, int* out) {
  int b = blockIdx.x;
  if (threadIdx.x == 0 && b < 4) {
    unsigned before = 0;
    if (b > 0) {
      unsigned long long v;
      while (((v = atomicAdd(&state[b - 1], 0ull)) >> 32) == 0) {}
      before = (unsigned)v;
    }
    atomicExch(&state[b], 1ull << 32 | (before + 1));
    out[b] = before;
  }
}
// launch: <<<1, 64>>> int[256] int[64]
__global__ void pipeline_never_waits(const int* in, int* out) {
  __shared__ int s[64];
  int t = threadIdx.x;
  __pipeline_memcpy_async(&s[t], &in[t], 4);  // expect: race
  __pipeline_commit();
  __syncthreads();
  out[t] = s[63 - t];  // expect: race
}
// launch: <<<1, 64>>> int[256] int[64]
__global__ void pipeline_double_buffer(const int* in, int* out) {
  __shared__ int s[2][64];
  int t = threadIdx.x, sum = 0;
  __pipeline_memcpy_async(&s[0][t], &in[t], 4);
  __pipeline_commit();
  for (int k = 0; k < 4; k++) {
    if (k < 3) __pipeline_memcpy_async(&s[(k + 1) % 2][t], &in[64 * (k + 1) + t], 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += s[k % 2][63 - t];
    __syncthreads();
  }
  out[t] = sum;
}
// launch: <<<1, 64>>> int[256] int[64]
__global__ void pipeline_reads_before_wait(const int* in, int* out) {
  __shared__ int s[2][64];
  int t = threadIdx.x, sum = 0;
  __pipeline_memcpy_async(&s[0][t], &in[t], 4);
  __pipeline_commit();
  for (int k = 0; k < 4; k++) {
    if (k < 3) __pipeline_memcpy_async(&s[(k + 1) % 2][t], &in[64 * (k + 1) + t], 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    sum += s[k % 2][63 - t];  // expect: race
    __syncthreads();
  }
  out[t] = sum;
}
// launch: <<<1, 64>>> int[256] int[64]
__global__ void pipeline_reuses_too_early(const int* in, int* out) {
  __shared__ int s[2][64];
  int t = threadIdx.x, sum = 0;
  __pipeline_memcpy_async(&s[0][t], &in[t], 4);
  __pipeline_commit();
  for (int k = 0; k < 4; k++) {
    __pipeline_wait_prior(0);
    __syncthreads();
    sum += s[k % 2][63 - t];  // expect: race
    if (k < 3) __pipeline_memcpy_async(&s[k % 2][t], &in[64 * (k + 1) + t], 4);
    __pipeline_commit();
  }
  out[t] = sum;
}
// launch: <<<1, 32>>> float[256] float[256]
__global__ void wmma_tile(const float* unused, float* out) {
  using namespace nvcuda::wmma;
  __shared__ half a[256], b[256];
  for (int i = threadIdx.x; i < 256; i += 32) a[i] = 1, b[i] = 2;
  __syncwarp();
  fragment<matrix_a, 16, 16, 16, half, row_major> x;
  fragment<matrix_b, 16, 16, 16, half, col_major> y;
  fragment<accumulator, 16, 16, 16, float> z;
  fill_fragment(z, 0.0f);
  load_matrix_sync(x, a, 16);
  load_matrix_sync(y, b, 16);
  mma_sync(z, x, y, z);
  store_matrix_sync(out, z, 16, mem_row_major);
}
// launch: <<<1, 64>>> float[256] float[256]
__global__ void wmma_no_barrier(const float* unused, float* out) {
  using namespace nvcuda::wmma;
  __shared__ half a[256], b[256];
  for (int i = threadIdx.x; i < 256; i += 64) a[i] = 1, b[i] = 2;  // expect: race
  if (threadIdx.x < 32) {
    fragment<matrix_a, 16, 16, 16, half, row_major> x;
    fragment<matrix_b, 16, 16, 16, half, col_major> y;
    fragment<accumulator, 16, 16, 16, float> z;
    fill_fragment(z, 0.0f);
    load_matrix_sync(x, a, 16);  // expect: race
    load_matrix_sync(y, b, 16);  // expect: race
    mma_sync(z, x, y, z);
    store_matrix_sync(out, z, 16, mem_row_major);
  }
}
// launch: <<<1, 32>>> float[256] float[200]
__global__ void wmma_out_too_small(const float* unused, float* out) {
  using namespace nvcuda::wmma;
  fragment<accumulator, 16, 16, 16, float> z;
  fill_fragment(z, 0.0f);
  store_matrix_sync(out, z, 16, mem_row_major);  // expect: bounds
}
