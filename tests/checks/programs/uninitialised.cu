// Values that were never written, where they decide something, and where they do not.

// launch: <<<1, 32>>> int[32] unset[32]
__global__ void branch_on_unset_memory(int* out, const int* flags) {
  int sum = 0;
  for (int k = 0; k < flags[threadIdx.x]; k++) sum += out[k % 32] * k;  // expect: uninitialised
  if (sum == 12345) out[threadIdx.x] = 1;
}
// launch: <<<1, 32>>> int[32] int[32]
__global__ void branch_on_memory(int* out, const int* flags) {
  if (flags[threadIdx.x] > 3) out[threadIdx.x] = 1;
  else out[threadIdx.x] = 2;
}
// launch: <<<1, 32>>> int[32] unset[32]
__global__ void index_from_unset_memory(int* out, const int* index) {
  out[index[threadIdx.x] & 31 | threadIdx.x] = 1;  // expect: uninitialised
}
// launch: <<<1, 32>>> int[32] iota[32]
__global__ void index_from_memory(int* out, const int* index) { out[index[threadIdx.x]] = 1; }
// launch: <<<1, 32>>> int[32] unset[32]
__global__ void unset_value_leaves(int* out, const int* in) {
  out[threadIdx.x] = in[threadIdx.x] + 1;  // expect: uninitialised
}
// launch: <<<1, 32>>> unset[32] int[32]
__global__ void result_is_written(int* out, const int* in) { out[threadIdx.x] = in[threadIdx.x] + 1; }
// launch: <<<1, 32>>> int[32] unset[32]
__global__ void unset_value_is_not_used(int* out, const int* in) {
  int v = in[threadIdx.x];
  out[threadIdx.x] = threadIdx.x < 64 ? 5 : v;
}
// launch: <<<1, 64>>> int[64]
__global__ void shared_partly_filled(int* out) {
  __shared__ int s[64];
  if (threadIdx.x < 48) s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = s[63 - threadIdx.x];  // expect: uninitialised
}
// launch: <<<1, 64>>> int[64]
__global__ void shared_filled(int* out) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = s[63 - threadIdx.x];
}
// launch: <<<1, 64>>> float[64]
__global__ void padding_column_is_read(float* out) {
  __shared__ float tile[8][9];
  tile[threadIdx.x / 8][threadIdx.x % 8] = threadIdx.x;
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 9; k++) sum += tile[threadIdx.x / 8][k];
  out[threadIdx.x] = sum;  // expect: uninitialised
}
// launch: <<<1, 64>>> float[64]
__global__ void padding_column_is_not_read(float* out) {
  __shared__ float tile[8][9];
  tile[threadIdx.x / 8][threadIdx.x % 8] = threadIdx.x;
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 8; k++) sum += tile[threadIdx.x / 8][k];
  out[threadIdx.x] = sum;
}
// launch: <<<1, 32>>> int[16]
__global__ void bins_are_not_cleared(int* out) {
  __shared__ int bins[16];
  atomicAdd(&bins[threadIdx.x % 16], 1);
  __syncthreads();
  if (threadIdx.x < 16) out[threadIdx.x] = bins[threadIdx.x];  // expect: uninitialised
}
// launch: <<<1, 32>>> int[16]
__global__ void bins_are_cleared(int* out) {
  __shared__ int bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[threadIdx.x % 16], 1);
  __syncthreads();
  if (threadIdx.x < 16) out[threadIdx.x] = bins[threadIdx.x];
}
struct Padded {
  char tag;
  int value;
};
// launch: <<<1, 32>>> int[32]
__global__ void padding_is_copied(int* out) {
  __shared__ Padded first[32], second[32];
  first[threadIdx.x].tag = 1;
  first[threadIdx.x].value = threadIdx.x;
  __syncthreads();
  second[threadIdx.x] = first[31 - threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = second[threadIdx.x].tag + second[threadIdx.x].value;
}
// launch: <<<1, 32>>> int[32]
__global__ void half_of_a_pair(int* out) {
  __shared__ Padded pairs[32];
  pairs[threadIdx.x].tag = 1;
  __syncthreads();
  out[threadIdx.x] = pairs[31 - threadIdx.x].value;  // expect: uninitialised
}
// launch: <<<1, 32>>> int[32] 5
__global__ void stack_partly_filled(int* out, int n) {
  int local[16];
  for (int k = 0; k < n; k++) local[k] = k;
  out[threadIdx.x] = local[(threadIdx.x + n) & 15];  // expect: uninitialised
}
// launch: <<<1, 32>>> int[32] 16
__global__ void stack_filled(int* out, int n) {
  int local[16];
  for (int k = 0; k < n; k++) local[k & 15] = k;
  out[threadIdx.x] = local[(threadIdx.x + n) & 15];
}
// launch: <<<1, 32>>> int[32] unset[32]
__global__ void sum_with_a_shuffle(int* out, int* in) {
  if (threadIdx.x != 7) in[threadIdx.x] = 1;
  __syncwarp();
  int v = in[threadIdx.x];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
  if (threadIdx.x == 0) out[0] = v;  // expect: uninitialised
}
// launch: <<<1, 32>>> int[32] unset[32]
__global__ void sum_of_those_written(int* out, int* in) {
  in[threadIdx.x] = 1;
  __syncwarp();
  int v = in[threadIdx.x];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
  if (threadIdx.x == 0) out[0] = v;
}
// launch: <<<1, 32>>> int[32]
__global__ void heap_is_read_first(int* out) {
  int* p = (int*)malloc(8);
  p[0] = threadIdx.x;
  out[threadIdx.x] = ((volatile int*)p)[1];  // expect: uninitialised
  free(p);
}
// launch: <<<1, 32>>> int[32]
__global__ void vote_on_unset_memory(int* out) {
  __shared__ int s[32];
  if (threadIdx.x < 31) s[threadIdx.x] = 1;
  __syncwarp();
  out[threadIdx.x] = __any_sync(0xffffffffu, s[threadIdx.x] > 1);  // expect: uninitialised
}
// launch: <<<1, 32>>> int[32]
__global__ void masked_bytes(int* out) {
  __shared__ int s[32];
  ((unsigned char*)s)[4 * threadIdx.x] = threadIdx.x;
  __syncwarp();
  out[threadIdx.x] = s[threadIdx.x] & 0xff;
}
// launch: <<<1, 32>>> char[32] 1
__global__ void a_byte_of_two_words(unsigned char* out, int n) {
  __shared__ unsigned int s[33];
  ((unsigned char*)s)[4 * threadIdx.x + 1] = threadIdx.x;
  __syncwarp();
  unsigned int moved = __funnelshift_r(s[threadIdx.x], s[threadIdx.x + 1], 8 * n);
  unsigned int picked = __byte_perm(s[threadIdx.x], 0, 0x4441 + 16 * (n - 1));
  out[threadIdx.x] = moved ^ picked ^ (s[threadIdx.x] >> 8 * n);
}
// launch: <<<1, 32>>> char[32] 2
__global__ void the_byte_beside_it(unsigned char* out, int n) {
  __shared__ unsigned int s[33];
  ((unsigned char*)s)[4 * threadIdx.x + 1] = threadIdx.x;
  __syncwarp();
  out[threadIdx.x] = __funnelshift_r(s[threadIdx.x], s[threadIdx.x + 1], 8 * n);  // expect: uninitialised
}
// launch: <<<1, 32>>> char[32] 4
__global__ void half_of_a_byte_is_of_another(unsigned char* out, int n) {
  __shared__ unsigned int s[32];
  ((unsigned char*)s)[4 * threadIdx.x + 1] = threadIdx.x;
  __syncwarp();
  out[threadIdx.x] = s[threadIdx.x] >> (8 + n);  // expect: uninitialised
}
