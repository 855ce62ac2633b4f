// Barriers that threads come to or do not, and masks of warp-level operations.

// launch: <<<1, 64>>> int[64]
__global__ void both_arms(int* a) {
  if (threadIdx.x % 2) {
    a[threadIdx.x] = 1;
    __syncthreads();  // expect: barrier
  } else {
    a[threadIdx.x] = 2;
    __syncthreads();  // expect: barrier
  }
}
// launch: <<<1, 64>>> int[64]
__global__ void after_the_arms(int* a) {
  if (threadIdx.x % 2) a[threadIdx.x] = 1;
  else a[threadIdx.x] = 2;
  __syncthreads();
}
// launch: <<<1, 64>>> int[64]
__global__ void arms_by_warp(int* a) {
  if (threadIdx.x < 32) {
    a[threadIdx.x] = 1;
    __syncthreads();  // expect: barrier
  } else {
    a[threadIdx.x] = 2;
    __syncthreads();  // expect: barrier
  }
}
// launch: <<<2, 64>>> int[128]
__global__ void arms_by_block(int* a) {
  if (blockIdx.x == 0) {
    a[threadIdx.x] = 1;
    __syncthreads();
    a[threadIdx.x] = 3;
  } else {
    a[64 + threadIdx.x] = 2;
    __syncthreads();
    a[64 + threadIdx.x] = 4;
  }
}
// launch: <<<1, 64>>> int[64]
__global__ void half_of_a_warp(int* a) {
  if (threadIdx.x % 32 < 16) __syncthreads();  // expect: barrier
  a[threadIdx.x] = 1;
  __syncthreads();
}
// launch: <<<1, 64>>> int[64] 40
__global__ void early_return(int* a, int n) {
  __shared__ int s[64];
  if (threadIdx.x >= n) return;
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();  // expect: barrier warning
  a[threadIdx.x] = s[(threadIdx.x + 1) % n];
}
// launch: <<<1, 64>>> int[64] 40
__global__ void guarded_work(int* a, int n) {
  __shared__ int s[64];
  if (threadIdx.x < n) s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < n) a[threadIdx.x] = s[(threadIdx.x + 1) % n];
}
// launch: <<<4, 64>>> int[256] 128
__global__ void whole_blocks_return(int* a, int n) {
  __shared__ int s[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  if (blockIdx.x * 64 >= n) return;
  s[threadIdx.x] = a[i];
  __syncthreads();
  a[i] = s[63 - threadIdx.x];
}
// launch: <<<1, 64>>> int[64]
__global__ void return_after_the_barrier(int* a) {
  __shared__ int s[64];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  if (threadIdx.x > 9) return;
  a[threadIdx.x] = s[63 - threadIdx.x];
}
// launch: <<<1, 128>>> int[128]
__global__ void loops_of_different_length(int* a) {
  for (int k = 0; k <= threadIdx.x / 64; k++) {
    a[threadIdx.x] += k;
    __syncthreads();  // expect: barrier
  }
  a[threadIdx.x]++;
  __syncthreads();  // expect: barrier
}
// launch: <<<1, 128>>> int[128] 3
__global__ void loops_of_one_length(int* a, int n) {
  for (int k = 0; k < n; k++) {
    a[threadIdx.x] += k;
    __syncthreads();
  }
}
// launch: <<<1, 64>>> int[64]
__global__ void named_barrier_never_complete(int* a) {
  if (threadIdx.x < 32) {
    asm volatile("bar.sync 1, 64;" ::: "memory");  // expect: barrier
    a[threadIdx.x] = 1;
  }
}
// launch: <<<1, 64>>> int[64]
__global__ void named_barrier_complete(int* a) {
  if (threadIdx.x < 32) {
    asm volatile("bar.sync 1, 32;" ::: "memory");
    a[threadIdx.x] = 1;
  }
}
// launch: <<<1, 96>>> int[96]
__global__ void warps_wait_for_each_other(int* a) {
  if (threadIdx.x < 32) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    asm volatile("bar.sync 2, 64;" ::: "memory");
  } else if (threadIdx.x < 64) {
    asm volatile("bar.sync 2, 64;" ::: "memory");  // expect: barrier
    asm volatile("bar.sync 1, 64;" ::: "memory");
  }
  a[threadIdx.x] = 1;
}
// launch: <<<1, 32>>> int[32]
__global__ void shuffle_waits_for_others(int* a) {
  int v = a[threadIdx.x];
  if (threadIdx.x < 16) v = __shfl_sync(0xffffffffu, v, 3);  // expect: barrier
  else a[threadIdx.x] = 0;
  __syncwarp();
  a[threadIdx.x] = v;
}
// launch: <<<1, 32>>> int[32]
__global__ void shuffle_of_the_branch(int* a) {
  int v = a[threadIdx.x];
  if (threadIdx.x < 16) v = __shfl_sync(0x0000ffffu, v, 3);
  a[threadIdx.x] = v;
}
// launch: <<<1, 32>>> int[32]
__global__ void caller_is_not_in_the_mask(int* a) {
  a[threadIdx.x] = __shfl_sync(0x0000ffffu, (int)threadIdx.x, 3);  // expect: barrier
}
// launch: <<<1, 32>>> int[32]
__global__ void all_in_the_mask(int* a) { a[threadIdx.x] = __shfl_sync(0xffffffffu, (int)threadIdx.x, 3); }
// launch: <<<1, 32>>> int[32]
__global__ void ballot_before_the_branch(int* a) {
  unsigned odd = __ballot_sync(0xffffffffu, threadIdx.x & 1);
  int v = a[threadIdx.x];
  if (threadIdx.x & 1) v = __reduce_add_sync(odd, v);
  a[threadIdx.x] = v;
}
// launch: <<<1, 32>>> int[32]
__global__ void ballot_in_the_branch(int* a) {
  int v = a[threadIdx.x];
  if (threadIdx.x & 1) v = __ballot_sync(0xffffffffu, v > 0);  // expect: barrier
  else a[threadIdx.x] = 7;
  __syncwarp();
  a[threadIdx.x] += v;
}
// launch: <<<1, 32>>> int[32] 20
__global__ void returned_lanes_are_named(int* a, int n) {
  if (threadIdx.x >= n) return;
  a[threadIdx.x] = __shfl_sync(0xffffffffu, (int)threadIdx.x, 3);
}
// launch: <<<1, 32>>> int[32]
__global__ void syncwarp_in_both_arms(int* a) {
  __shared__ int s[32];
  if (threadIdx.x < 16) {
    s[threadIdx.x] = a[threadIdx.x];
    __syncwarp();
  } else {
    __syncwarp();
    a[threadIdx.x] = s[threadIdx.x - 16];
  }
}
// launch: <<<1, 32>>> int[32]
__global__ void match_groups(int* a) {
  unsigned group = __match_any_sync(0xffffffffu, threadIdx.x % 4);
  __syncwarp(group);
  a[threadIdx.x] = __shfl_sync(group, (int)threadIdx.x, __ffs(group) - 1);
}
// launch: <<<1, 64>>> int[64]
__global__ void reducing_barrier(int* a) { a[threadIdx.x] = __syncthreads_count(a[threadIdx.x] == 0); }
// launch: <<<1, 48>>> int[48]
__global__ void a_warp_that_is_not_full(int* a) {
  __shared__ int s[48];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  a[threadIdx.x] = s[47 - threadIdx.x];
}
// launch: <<<1, 1024>>> int[1024]
__global__ void thirty_two_warps(int* a) {
  __shared__ int s[1024];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  a[threadIdx.x] = s[1023 - threadIdx.x];
}
