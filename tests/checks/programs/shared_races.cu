// Races in shared memory and their clean twins.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// launch: <<<1, 64>>> int[64]
__global__ void missing_barrier(int* a) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;       // expect: race
  a[threadIdx.x] = s[63 - threadIdx.x];
}
// launch: <<<1, 64>>> int[64]
__global__ void barrier_is_there(int* a) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  a[threadIdx.x] = s[63 - threadIdx.x];
}
// launch: <<<1, 64>>> int[64] 4
__global__ void tile_is_reused_too_early(int* a, int n) {
  __shared__ int s[64];
  int sum = 0;
  for (int k = 0; k < n; k++) {
    s[threadIdx.x] = a[threadIdx.x] + k;  // expect: race
    __syncthreads();
    sum += s[63 - threadIdx.x];
  }
  a[threadIdx.x] = sum;
}
// launch: <<<1, 64>>> int[64] 4
__global__ void tile_is_reused(int* a, int n) {
  __shared__ int s[64];
  int sum = 0;
  for (int k = 0; k < n; k++) {
    s[threadIdx.x] = a[threadIdx.x] + k;
    __syncthreads();
    sum += s[63 - threadIdx.x];
    __syncthreads();
  }
  a[threadIdx.x] = sum;
}
// launch: <<<1, 64>>> int[64] 5
__global__ void double_buffer(int* a, int n) {
  __shared__ int s[2][64];
  int sum = 0;
  for (int k = 0; k < n; k++) {
    s[k & 1][threadIdx.x] = a[threadIdx.x] + k;
    __syncthreads();
    sum += s[k & 1][63 - threadIdx.x];
  }
  a[threadIdx.x] = sum;
}
// launch: <<<1, 64>>> int[64] 5
__global__ void double_buffer_not_switched(int* a, int n) {
  __shared__ int s[2][64];
  int sum = 0;
  for (int k = 0; k < n; k++) {
    s[k / 2 & 1][threadIdx.x] = a[threadIdx.x] + k;  // expect: race
    __syncthreads();
    sum += s[k / 2 & 1][63 - threadIdx.x];
  }
  a[threadIdx.x] = sum;
}
// launch: <<<1, 64>>> int[64]
__global__ void scan_in_one_buffer(int* a) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) {
    if (t >= d) s[t] += s[t - d];  // expect: race, race warning
    __syncthreads();
  }
  a[t] = s[t];
}
// launch: <<<1, 64>>> int[64]
__global__ void scan_with_a_register(int* a) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) {
    int v = t >= d ? s[t - d] : 0;
    __syncthreads();
    s[t] += v;
    __syncthreads();
  }
  a[t] = s[t];
}
// launch: <<<1, 256>>> int[16]
__global__ void histogram_without_atomics(int* h) {
  __shared__ int bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  bins[threadIdx.x * 7 % 16]++;  // expect: race, race warning
  __syncthreads();
  if (threadIdx.x < 16) h[threadIdx.x] = bins[threadIdx.x];
}
// launch: <<<1, 256>>> int[16]
__global__ void histogram_with_atomics(int* h) {
  __shared__ int bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[threadIdx.x * 7 % 16], 1);
  __syncthreads();
  if (threadIdx.x < 16) h[threadIdx.x] = bins[threadIdx.x];
}
// launch: <<<1, 256>>> int[16]
__global__ void histogram_is_cleared_late(int* h) {
  __shared__ int bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  atomicAdd(&bins[threadIdx.x % 16], 1);  // expect: race, race warning
  __syncthreads();
  if (threadIdx.x < 16) h[threadIdx.x] = bins[threadIdx.x];
}
// launch: <<<1, 1024>>> int[1024]
__global__ void many_threads_one_slot(int* a) {
  __shared__ int val[1024];
  val[threadIdx.x * 32 % 1024] = threadIdx.x;  // expect: race
  __syncthreads();
  a[threadIdx.x] = val[threadIdx.x];
}
// launch: <<<1, 1024>>> int[1024]
__global__ void one_thread_a_slot(int* a) {
  __shared__ int val[1024];
  val[threadIdx.x * 33 % 1024] = threadIdx.x;
  __syncthreads();
  a[threadIdx.x] = val[threadIdx.x];
}
// launch: <<<1, 256>>> int[1]
__global__ void same_value_flag(int* a) {
  __shared__ int found;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  if (threadIdx.x % 3 == 0) found = 1;  // expect: race note
  __syncthreads();
  if (threadIdx.x == 0) a[0] = found;
}
// launch: <<<1, 256>>> int[1]
__global__ void flag_with_different_values(int* a) {
  __shared__ int found;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  if (threadIdx.x % 3 == 0) found = threadIdx.x;  // expect: race
  __syncthreads();
  if (threadIdx.x == 0) a[0] = found;
}
// launch: <<<1, 64>>> int[64]
__global__ void tree_without_barrier(int* a) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  for (int d = 32; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];  // expect: race warning
  }
  if (t == 0) a[0] = s[0];
}
// launch: <<<1, 128>>> int[128]
__global__ void tree_without_barrier_over_warps(int* a) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  for (int d = 64; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];  // expect: race, race warning
  }
  if (t == 0) a[0] = s[0];
}
// launch: <<<1, 128>>> int[128]
__global__ void tree_with_barriers(int* a) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = a[t];
  for (int d = 64; d > 0; d /= 2) {
    __syncthreads();
    if (t < d) s[t] += s[t + d];
  }
  if (t == 0) a[0] = s[0];
}
// launch: <<<1, 32>>> int[32]
__global__ void warp_synchronous(int* a) {
  __shared__ volatile int s[32];
  s[threadIdx.x] = a[threadIdx.x];
  a[threadIdx.x] = s[threadIdx.x ^ 1];  // expect: race warning
}
// launch: <<<1, 32>>> int[32]
__global__ void warp_with_syncwarp(int* a) {
  __shared__ int s[32];
  s[threadIdx.x] = a[threadIdx.x];
  __syncwarp();
  a[threadIdx.x] = s[threadIdx.x ^ 1];
}
// launch: <<<1, 64>>> int[64]
__global__ void syncwarp_for_a_block(int* a) {
  __shared__ int s[64];
  s[threadIdx.x] = a[threadIdx.x];
  __syncwarp();
  a[threadIdx.x] = s[threadIdx.x ^ 32];  // expect: race
}
// launch: <<<1, 32>>> int[32]
__global__ void ordered_by_shuffle_only(int* a) {
  __shared__ int s[32];
  s[threadIdx.x] = a[threadIdx.x];
  int token = __shfl_sync(0xffffffff, a[threadIdx.x], 0);
  a[threadIdx.x] = s[threadIdx.x ^ 1] + token;  // expect: race warning
}
// launch: <<<1, 32>>> int[32]
__global__ void halves_with_syncwarp_of_half(int* a) {
  __shared__ int s[32];
  unsigned half = threadIdx.x < 16 ? 0xffffu : 0xffff0000u;
  s[threadIdx.x] = a[threadIdx.x];
  __syncwarp(half);
  a[threadIdx.x] = s[threadIdx.x ^ 8];
}
// launch: <<<1, 32>>> int[32]
__global__ void halves_read_across(int* a) {
  __shared__ int s[32];
  unsigned half = threadIdx.x < 16 ? 0xffffu : 0xffff0000u;
  s[threadIdx.x] = a[threadIdx.x];
  __syncwarp(half);
  a[threadIdx.x] = s[threadIdx.x ^ 16];  // expect: race warning
}
// launch: <<<1, 64>>> int[64]
__global__ void arms_of_a_branch(int* a) {
  __shared__ int s[32];
  if (threadIdx.x < 16) s[threadIdx.x] = a[threadIdx.x];
  else if (threadIdx.x < 32) a[threadIdx.x] = s[threadIdx.x - 16];  // expect: race
}
// launch: <<<1, 64>>> int[64]
__global__ void group_sync(int* a) {
  __shared__ int s[64];
  auto block = cg::this_thread_block();
  s[block.thread_rank()] = a[block.thread_rank()];
  block.sync();
  a[block.thread_rank()] = s[63 - block.thread_rank()];
}
// launch: <<<1, 64>>> int[64]
__global__ void tile_sync(int* a) {
  __shared__ int s[64];
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  s[threadIdx.x] = a[threadIdx.x];
  tile.sync();
  a[threadIdx.x] = s[threadIdx.x ^ 7];
}
// launch: <<<1, 64>>> int[64]
__global__ void tile_sync_too_narrow(int* a) {
  __shared__ int s[64];
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  s[threadIdx.x] = a[threadIdx.x];
  tile.sync();
  a[threadIdx.x] = s[threadIdx.x ^ 8];  // expect: race warning
}
// launch: <<<1, 128>>> int[128]
__global__ void named_barrier_of_two_warps(int* a) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = a[t];
  if (t < 64) asm volatile("bar.sync 1, 64;" ::: "memory");
  else asm volatile("bar.sync 2, 64;" ::: "memory");
  a[t] = s[t ^ 32];
}
// launch: <<<1, 128>>> int[128]
__global__ void named_barrier_of_the_wrong_warps(int* a) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = a[t];
  if (t < 64) asm volatile("bar.sync 1, 64;" ::: "memory");
  else asm volatile("bar.sync 2, 64;" ::: "memory");
  a[t] = s[t ^ 64];  // expect: race
}
// launch: <<<1, 64>>> int[64]
__global__ void producer_and_consumer(int* a) {
  __shared__ int s[32];
  if (threadIdx.x < 32) {
    s[threadIdx.x] = a[threadIdx.x];
    asm volatile("bar.arrive 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    a[threadIdx.x] = s[threadIdx.x - 32];
  }
}
// launch: <<<1, 64>>> int[64]
__global__ void producer_writes_after_arriving(int* a) {
  __shared__ int s[32];
  if (threadIdx.x < 32) {
    asm volatile("bar.arrive 1, 64;" ::: "memory");
    s[threadIdx.x] = a[threadIdx.x];
  } else {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    a[threadIdx.x] = s[threadIdx.x - 32];  // expect: race
  }
}
// launch: <<<1, 64>>> char[64]
__global__ void neighbouring_bytes(char* a) {
  __shared__ char s[64];
  s[threadIdx.x] = a[threadIdx.x];
  a[threadIdx.x] = s[threadIdx.x];
}
// launch: <<<1, 64>>> char[64]
__global__ void bytes_of_another(char* a) {
  __shared__ char s[64];
  s[threadIdx.x] = a[threadIdx.x];
  a[threadIdx.x] = s[63 - threadIdx.x];  // expect: race
}
// launch: <<<1, 64>>> int[64]
__global__ void broadcast_from_thread_zero(int* a) {
  __shared__ int total;
  if (threadIdx.x == 0) total = a[0];
  __syncthreads();
  a[threadIdx.x] = total;
}
// launch: <<<1, 64>>> int[64]
__global__ void broadcast_without_barrier(int* a) {
  __shared__ int total;
  if (threadIdx.x == 0) total = a[0];
  a[threadIdx.x] = total;  // expect: race
}
// launch: <<<1, 64>>> int[64]
__global__ void read_then_write_of_one_slot(int* a) {
  __shared__ int s[64];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  int v = s[63 - threadIdx.x];
  s[threadIdx.x] = v + 1;  // expect: race
  __syncthreads();
  a[threadIdx.x] = s[threadIdx.x];
}
// launch: <<<1, 96>>> int[96]
__global__ void warps_take_turns_by_flag(int* a) {
  __shared__ int data[32];
  __shared__ volatile int turn;
  if (threadIdx.x == 0) turn = 0;
  __syncthreads();
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  while (turn != warp) {
  }
  __threadfence_block();
  __syncwarp();
  data[lane] = warp == 0 ? lane : data[lane] + 1;
  __threadfence_block();
  __syncwarp();
  if (lane == 0) turn = warp + 1;
  if (warp == 2) a[lane] = data[lane];
}
// launch: <<<1, 64>>> int[64]
__global__ void wide_stores(int* a) {
  __shared__ int4 s[64];
  s[threadIdx.x] = make_int4(1, 2, 3, 4);
  a[threadIdx.x] = ((int*)s)[4 * threadIdx.x + 3];
}
// launch: <<<1, 64>>> int[64]
__global__ void wide_stores_overlap(int* a) {
  __shared__ int4 s[66];
  s[threadIdx.x] = make_int4(1, 2, 3, threadIdx.x);
  a[threadIdx.x] = ((int*)s)[(4 * threadIdx.x + 130) % 256];  // expect: race
}
// launch: <<<1, 64>>> int[64]
__global__ void rows_too_early(int* out) {
  __shared__ __align__(16) int tile[128];
  tile[threadIdx.x] = threadIdx.x;  // expect: race
  __syncwarp();
  unsigned at = (unsigned)__cvta_generic_to_shared(tile) + 16 * (threadIdx.x % 32), a, b;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(at) : "memory");
  out[threadIdx.x] = a + b;
}
// launch: <<<1, 64>>> int[64]
__global__ void rows_of_sixteen_lanes(int* out) {  // the others name rows, but read none
  __shared__ __align__(16) int tile[128];
  tile[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x >= 32) tile[threadIdx.x + 64] = 1;
  unsigned at = (unsigned)__cvta_generic_to_shared(tile) + 16 * (threadIdx.x % 32), a, b;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(at) : "memory");
  out[threadIdx.x] = a + b;
}
// launch: <<<1, 64>>> int[32]
__global__ void two_named_barriers(int* a) {
  __shared__ int buffer[32];
  int t = threadIdx.x % 32, sum = 0;
  for (int r = 0; r < 5; r++) {
    if (threadIdx.x < 32) {
      asm volatile("bar.sync 2, 64;" ::: "memory");
      buffer[t] = r;
      asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else {
      asm volatile("bar.arrive 2, 64;" ::: "memory");
      asm volatile("bar.sync 1, 64;" ::: "memory");
      sum += buffer[t];
    }
  }
  if (threadIdx.x >= 32) a[t] = sum;
}
