// Races in global memory: within a warp, between warps, between blocks.
#include <cooperative_groups.h>

// launch: <<<4, 64>>> int[256]
__global__ void own_elements(int* a) { a[blockIdx.x * 64 + threadIdx.x] = 1; }
// launch: <<<4, 64>>> int[256]
__global__ void blocks_overlap(int* a) {
  a[blockIdx.x * 48 + threadIdx.x] = blockIdx.x;  // expect: race
}
// launch: <<<2, 64>>> int[256]
__global__ void neighbour_is_read(int* a) {
  int i = blockIdx.x * 64 + threadIdx.x;
  a[i] = a[i + 1] + 1;  // expect: race, race warning
}
// launch: <<<2, 64>>> int[256] int[256]
__global__ void neighbour_is_read_from_a_copy(int* out, const int* in) {
  int i = blockIdx.x * 64 + threadIdx.x;
  out[i] = in[i + 1] + 1;
}
// launch: <<<4, 64>>> int[16] iota[256]
__global__ void histogram_racy(int* h, const int* d) {
  h[d[blockIdx.x * 64 + threadIdx.x] % 16]++;  // expect: race, race warning
}
// launch: <<<4, 64>>> int[16] iota[256]
__global__ void histogram_atomic(int* h, const int* d) { atomicAdd(&h[d[blockIdx.x * 64 + threadIdx.x] % 16], 1); }
// launch: <<<8, 32>>> int[1]
__global__ void counter_racy(int* n) {
  if (threadIdx.x == 0) n[0] = n[0] + 1;  // expect: race
}
// launch: <<<8, 32>>> int[1]
__global__ void counter_atomic(int* n) {
  if (threadIdx.x == 0) atomicAdd(n, 1);
}
// launch: <<<8, 32>>> int[1]
__global__ void counter_of_block_scope(int* n) {
  if (threadIdx.x == 0) atomicAdd_block(n, 1);  // expect: race
}
// launch: <<<1, 256>>> int[1]
__global__ void counter_of_block_scope_in_a_block(int* n) { atomicAdd_block(n, 1); }
// launch: <<<8, 32>>> int[1]
__global__ void atomic_beside_plain_read(int* n) {
  if (threadIdx.x == 0) atomicAdd(n + 0, 1);
  if (threadIdx.x == 1 && n[0] > 1000) atomicAdd(n, 2);  // expect: race
}
// launch: <<<8, 32>>> int[1]
__global__ void all_blocks_set_a_flag(int* found) {
  if (threadIdx.x == 5) found[0] = 1;  // expect: race note
}
// launch: <<<8, 32>>> int[1]
__global__ void all_blocks_set_a_flag_to_their_number(int* found) {
  if (threadIdx.x == 5) found[0] = blockIdx.x;  // expect: race
}
// launch: <<<8, 32>>> float[8] float[1] int[1]
__global__ void last_block_reduces(volatile float* part, float* out, unsigned* count) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    part[blockIdx.x] = blockIdx.x;
    __threadfence();
    last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < gridDim.x; i++) sum += part[i];
    out[0] = sum;
  }
}
// launch: <<<8, 32>>> float[8] float[1] int[1]
__global__ void last_block_with_plain_loads(float* part, float* out, unsigned* count) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    part[blockIdx.x] = blockIdx.x;
    __threadfence();
    last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < gridDim.x; i++) sum += part[i];  // expect: race warning
    out[0] = sum;
  }
}
// launch: <<<8, 32>>> float[8] float[1] int[1]
__global__ void last_block_with_fences(float* part, float* out, unsigned* count) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    part[blockIdx.x] = blockIdx.x;
    __threadfence();
    last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < gridDim.x; i++) sum += part[i];
    out[0] = sum;
  }
}
// launch: <<<8, 32>>> float[8] float[1] int[1]
__global__ void last_block_without_fence(float* part, float* out, unsigned* count) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    part[blockIdx.x] = blockIdx.x;
    last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < gridDim.x; i++) sum += part[i];  // expect: race
    out[0] = sum;
  }
}
// launch: <<<8, 32>>> float[8] float[1] int[1]
__global__ void last_block_with_a_fence_of_the_block(float* part, float* out, unsigned* count) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    part[blockIdx.x] = blockIdx.x;
    __threadfence_block();
    last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < gridDim.x; i++) sum += part[i];  // expect: race
    out[0] = sum;
  }
}
// launch: <<<8, 64>>> float[512] float[1] int[1]
__global__ void last_block_all_threads_write(float* part, float* out, unsigned* count) {
  __shared__ bool last;
  part[blockIdx.x * 64 + threadIdx.x] = threadIdx.x;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < gridDim.x * 64; i++) sum += part[i];
    out[0] = sum;
  }
}
// launch: <<<8, 64>>> float[512] float[1] int[1]
__global__ void last_block_without_barrier(float* part, float* out, unsigned* count) {
  __shared__ bool last;
  part[blockIdx.x * 64 + threadIdx.x] = threadIdx.x;
  __threadfence();
  if (threadIdx.x == 0) {
    last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < gridDim.x * 64; i++) sum += part[i];  // expect: race
    out[0] = sum;
  }
}
// launch: <<<2, 32>>> int[32] int[32] int[1]
__global__ void volatile_flag_with_fences(int* data, int* out, volatile int* flag) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = threadIdx.x;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) flag[0] = 1;
  } else {
    while (flag[0] == 0) {
    }
    __threadfence();
    out[threadIdx.x] = data[31 - threadIdx.x];
  }
}
// launch: <<<2, 32>>> int[32] int[32] int[1]
__global__ void volatile_flag_without_fences(int* data, int* out, volatile int* flag) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) flag[0] = 1;
  } else {
    while (flag[0] == 0) {
    }
    out[threadIdx.x] = data[31 - threadIdx.x];  // expect: race
  }
}
// launch: <<<2, 32>>> int[32] int[32] int[1]
__global__ void release_and_acquire(int* data, int* out, int* flag) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
  } else {
    int seen;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    } while (!seen);
    out[threadIdx.x] = data[31 - threadIdx.x];
  }
}
// launch: <<<2, 32>>> int[32] int[32] int[1]
__global__ void release_without_barrier(int* data, int* out, int* flag) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = threadIdx.x;
    if (threadIdx.x == 0) asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
  } else {
    int seen;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    } while (!seen);
    out[threadIdx.x] = data[31 - threadIdx.x];  // expect: race
  }
}
// launch: <<<4, 1>>> int[1] int[1]
__global__ void spin_lock(int* sum, int* lock) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __threadfence();
  sum[0] += blockIdx.x;
  __threadfence();
  atomicExch(lock, 0);
}
// launch: <<<4, 1>>> int[1] int[1]
__global__ void spin_lock_without_fences(int* sum, int* lock) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  sum[0] += blockIdx.x;  // expect: race
  atomicExch(lock, 0);
}
// launch: <<<4, 1>>> int[1] int[2]
__global__ void two_locks_for_one_sum(int* sum, int* lock) {
  int* mine = lock + blockIdx.x % 2;
  while (atomicCAS(mine, 0, 1) != 0) {
  }
  __threadfence();
  sum[0] += blockIdx.x;  // expect: race
  __threadfence();
  atomicExch(mine, 0);
}
// launch: <<<4, 32>>> int[4] int[4] int[4]
__global__ void chain_of_blocks(int* flag, int* data, int* out) {
  if (threadIdx.x != 0) return;
  int b = blockIdx.x;
  if (b > 0) {
    while (*(volatile int*)(flag + b - 1) == 0) {
    }
    __threadfence();
  }
  int before = b > 0 ? data[0] : 0;
  data[0] = before + b;
  out[b] = before;
  __threadfence();
  *(volatile int*)(flag + b) = 1;
}
// launch: <<<1, 64>>> int[64]
__global__ void block_swaps_without_barrier(int* a) {
  int v = a[63 - threadIdx.x];
  a[threadIdx.x] = v;  // expect: race
}
// launch: <<<1, 64>>> int[64]
__global__ void block_swaps(int* a) {
  int v = a[63 - threadIdx.x];
  __syncthreads();
  a[threadIdx.x] = v;
}
// launch: <<<2, 64>>> int[128]
__global__ void blocks_swap_with_a_barrier(int* a) {
  int i = blockIdx.x * 64 + threadIdx.x, v = a[127 - i];
  __syncthreads();
  a[i] = v;  // expect: race
}
// launch: <<<1, 32>>> int[32]
__global__ void warp_swaps(int* a) {
  int v = a[31 - threadIdx.x];
  __syncwarp();
  a[threadIdx.x] = v;
}
// launch: <<<1, 32>>> int[32]
__global__ void warp_swaps_in_lockstep(int* a) {
  int v = a[31 - threadIdx.x];
  a[threadIdx.x] = v;  // expect: race warning
}
// launch: <<<4, 64>>> int[1]
__global__ void warp_aggregation(int* n) {
  unsigned active = __activemask();
  if (threadIdx.x % 32 == __ffs(active) - 1) atomicAdd(n, __popc(active));
}
// launch: <<<4, 64>>> int[1] int[256]
__global__ void compaction(int* n, int* out) {
  if ((threadIdx.x & 3) == 0) out[atomicAdd(n, 1)] = threadIdx.x;
}
// launch: <<<4, 64>>> int[1] int[256]
__global__ void compaction_by_a_plain_counter(int* n, int* out) {
  if (threadIdx.x == 0) {
    int at = n[0];
    n[0] = at + 1;  // expect: race
    out[blockIdx.x] = at;
  }
}
// launch: <<<2, 32>>> char[64]
__global__ void bytes_of_one_word(char* a) { a[2 * threadIdx.x + blockIdx.x] = 1; }
// launch: <<<2, 32>>> char[64]
__global__ void bytes_overlap(char* a) {
  a[threadIdx.x + 16 * blockIdx.x] = blockIdx.x;  // expect: race
}
// launch: <<<4, 32>>> int[128] 128
__global__ void grid_stride(int* a, int n) {
  for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += 128) a[i]++;
}
// launch: <<<4, 32>>> int[128] 128
__global__ void grid_stride_too_short(int* a, int n) {
  for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += 64) a[i]++;  // expect: race
}
// launch: <<<2, 32>>> float[64] float[64]
__global__ void transposes_in_place(float* m, float* unused) {
  int x = threadIdx.x % 8, y = threadIdx.x / 8 + 4 * blockIdx.x;
  float v = m[x * 8 + y];
  m[y * 8 + x] = v;  // expect: race, race warning
}
// launch: <<<2, 32>>> float[64] float[64]
__global__ void transposes_to_another(float* out, const float* in) {
  int x = threadIdx.x % 8, y = threadIdx.x / 8 + 4 * blockIdx.x;
  out[y * 8 + x] = in[x * 8 + y];
}
// launch: <<<8, 1>>> int[1] int[1] int[1]
__global__ void ticket_lock(int* next, volatile int* serving, int* sum) {
  for (int r = 0; r < 4; r++) {
    int mine = atomicAdd(next, 1);
    while (*serving != mine) {
    }
    __threadfence();
    if (mine % 5 == 0) sum[0]++;
    __threadfence();
    *serving = mine + 1;
  }
}
// launch: <<<1, 64>>> int[192] 2000
__global__ void many_warp_syncs(int* a, int n) {
  for (int k = 0; k < n; k++) {
    a[threadIdx.x] = k;
    __syncwarp();
    a[64 + threadIdx.x] += a[threadIdx.x ^ 1];
    __syncwarp();
  }
}
// launch: <<<8, 32>>> float[8] float[1] int[1]
__global__ void last_block_resets_the_counter(float* part, float* out, unsigned* count) {
  if (threadIdx.x != 0) return;
  part[blockIdx.x] = blockIdx.x;
  __threadfence();
  if (atomicAdd(count, 1) == gridDim.x - 1) {
    __threadfence();
    float sum = 0;
    for (int i = 0; i < gridDim.x; i++) sum += part[i];
    out[0] = sum;
    *count = 0;
  }
}
