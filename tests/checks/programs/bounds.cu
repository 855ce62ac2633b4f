// Accesses of every space, one element too far and not. See ../programs.py for how a kernel says how it is launched.

// launch: <<<2, 64>>> int[100] 100
__global__ void guard_is_off_by_one(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) a[i] = i;  // expect: bounds
}
// launch: <<<2, 64>>> int[100] 100
__global__ void guard_is_right(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = i;
}
// launch: <<<1, 32>>> float[32] float[32]
__global__ void stencil_without_edges(float* out, const float* in) {
  int i = threadIdx.x;
  out[i] = in[i - 1]  // expect: bounds
           + in[i]
           + in[i + 1];  // expect: bounds
}
// launch: <<<1, 32>>> float[32] float[32]
__global__ void stencil_with_edges(float* out, const float* in) {
  int i = threadIdx.x;
  float left = i > 0 ? in[i - 1] : 0.0f, right = i < 31 ? in[i + 1] : 0.0f;
  out[i] = left + in[i] + right;
}
// launch: <<<1, 32>>> int[32]
__global__ void shared_one_past(int* a) {
  __shared__ int s[32];
  s[threadIdx.x + 1] = threadIdx.x;  // expect: bounds
  __syncthreads();
  a[threadIdx.x] = s[threadIdx.x];
}
// launch: <<<1, 32>>> int[32]
__global__ void shared_has_room(int* a) {
  __shared__ int s[33];
  s[threadIdx.x + 1] = threadIdx.x;
  if (threadIdx.x == 0) s[0] = 0;
  __syncthreads();
  a[threadIdx.x] = s[threadIdx.x];
}
// launch: <<<1, 32>>> int[32] 4
__global__ void into_the_next_array(int* a, int shift) {
  __shared__ int first[32], second[32];
  second[threadIdx.x] = 7;
  __syncthreads();
  first[threadIdx.x + shift] = threadIdx.x;  // expect: bounds
  __syncthreads();
  a[threadIdx.x] = first[threadIdx.x] + second[threadIdx.x];
}
// launch: <<<1, 32>>> int[32] 4
__global__ void two_arrays(int* a, int shift) {
  __shared__ int first[36], second[32];
  second[threadIdx.x] = 7;
  first[threadIdx.x] = 0;
  __syncthreads();
  first[threadIdx.x + shift] = threadIdx.x;
  __syncthreads();
  a[threadIdx.x] = first[threadIdx.x + shift] + second[threadIdx.x];
}
// launch: <<<1, 64, 128>>> int[64]
__global__ void dynamic_too_small(int* a) {
  extern __shared__ int d[];
  d[threadIdx.x] = threadIdx.x;  // expect: bounds
  __syncthreads();
  a[threadIdx.x] = d[threadIdx.x % 32];
}
// launch: <<<1, 64, 256>>> int[64]
__global__ void dynamic_fits(int* a) {
  extern __shared__ int d[];
  d[threadIdx.x] = threadIdx.x;
  __syncthreads();
  a[threadIdx.x] = d[63 - threadIdx.x];
}
// launch: <<<1, 32>>> int[32] 1
__global__ void stack_one_past(int* a, int i) {
  int local[8];
  for (int k = 0; k < 8; k++) local[k] = k;
  local[(threadIdx.x & 7) + i] = 5;  // expect: bounds
  int sum = 0;
  for (int k = 0; k < 8; k++) sum += local[(k + threadIdx.x) & 7];
  a[threadIdx.x] = sum;
}
// launch: <<<1, 32>>> int[32] 0
__global__ void stack_within(int* a, int i) {
  int local[8];
  for (int k = 0; k < 8; k++) local[k] = k;
  local[(threadIdx.x & 7) + i] = 5;
  int sum = 0;
  for (int k = 0; k < 8; k++) sum += local[(k + threadIdx.x) & 7];
  a[threadIdx.x] = sum;
}
// launch: <<<1, 32>>> int[40]
__global__ void vector_load_misaligned(int* a) {
  int4 v = *(int4*)(a + 4 * (threadIdx.x / 4) + 1);  // expect: bounds
  if (v.x == 12345) a[0] = v.y;
}
// launch: <<<1, 8>>> int[40]
__global__ void vector_load_aligned(int* a) {
  int4 v = *(int4*)(a + 4 * threadIdx.x);
  if (v.x == 12345) a[0] = v.y;
}
// launch: <<<1, 8>>> int[30] int[30]
__global__ void vector_load_past_the_end(int* out, const int4* in) {
  int4 v = in[threadIdx.x];  // expect: bounds
  out[threadIdx.x] = v.x + v.y + v.z + v.w;
}
// launch: <<<1, 7>>> int[30] int[30]
__global__ void vector_load_to_the_end(int* out, const int4* in) {
  int4 v = in[threadIdx.x];
  out[threadIdx.x] = v.x + v.y + v.z + v.w;
}
// launch: <<<1, 32>>> int[32]
__global__ void atomic_past_the_end(int* a) {
  atomicAdd(&a[threadIdx.x + 1], 1);  // expect: bounds
}
// launch: <<<1, 32>>> int[33]
__global__ void atomic_within(int* a) { atomicAdd(&a[threadIdx.x + 1], 1); }
// launch: <<<1, 1>>> int[4] null
__global__ void null_pointer(int* a, int* p) {
  a[0] = p[0];  // expect: bounds
}
// launch: <<<1, 1>>> int[4] null
__global__ void null_is_tested(int* a, int* p) {
  if (p) a[0] = p[0];
}
// launch: <<<1, 32>>> float[1024] 32
__global__ void column_past_the_matrix(float* m, int n) {
  m[(threadIdx.x + 1) * n] = 1.0f;  // expect: bounds
}
// launch: <<<1, 32>>> float[1024] 32
__global__ void column_of_the_matrix(float* m, int n) { m[threadIdx.x * n] = 1.0f; }
// launch: <<<2, 32>>> iota[64] int[64]
__global__ void gather_out_of_range(const int* index, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = index[index[i] + 32];  // expect: bounds
}
// launch: <<<2, 32>>> iota[64] int[64]
__global__ void gather_in_range(const int* index, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = index[63 - index[i]];
}
// launch: <<<1, 32>>> int[32]
__global__ void negative_index(int* a) {
  a[(int)threadIdx.x - 4] = 1;  // expect: bounds
}
// launch: <<<1, 32>>> int[32]
__global__ void negative_index_guarded(int* a) {
  if (threadIdx.x >= 4) a[(int)threadIdx.x - 4] = 1;
}
__constant__ int table[8];
// launch: <<<1, 16>>> int[16] 1
__global__ void constant_past_the_end(int* a, int i) {
  a[threadIdx.x] = table[threadIdx.x / 2 + i];  // expect: bounds
}
// launch: <<<1, 16>>> int[16] 0
__global__ void constant_within(int* a, int i) { a[threadIdx.x] = table[threadIdx.x / 2 + i]; }
__device__ int counters[4];
// launch: <<<1, 5>>> int[4]
__global__ void variable_past_the_end(int* a) {
  counters[threadIdx.x] = 1;  // expect: bounds
}
// launch: <<<1, 4>>> int[4]
__global__ void variable_within(int* a) { counters[threadIdx.x] = a[threadIdx.x]; }
// launch: <<<1, 32>>> char[31]
__global__ void byte_past_the_end(char* a) {
  a[threadIdx.x] = 1;  // expect: bounds
}
// launch: <<<1, 31>>> char[31]
__global__ void byte_at_the_end(char* a) { a[threadIdx.x] = 1; }
// launch: <<<1, 32>>> float[32]
__global__ void padding_column(float* a) {
  __shared__ float tile[8][9];
  if (threadIdx.x < 8)
    for (int k = 0; k < 8; k++) tile[threadIdx.x][k] = k;
  __syncthreads();
  a[threadIdx.x] = tile[threadIdx.x % 8][threadIdx.x / 4];
}
// launch: <<<1, 64>>> float[64] 9
__global__ void row_past_the_tile(float* a, int rows) {
  __shared__ float tile[8][9];
  for (int r = threadIdx.x; r < rows; r += 64)
    for (int k = 0; k < 9; k++) tile[r][k] = k;  // expect: bounds
  __syncthreads();
  a[threadIdx.x] = tile[threadIdx.x % 8][threadIdx.x / 8];
}
// launch: <<<1, 32>>> int[32]
__global__ void heap_past_the_end(int* a) {
  int* p = (int*)malloc(16);
  p[3] = 0;
  p[threadIdx.x < 31 ? 3 : 4] = 1;  // expect: bounds
  a[threadIdx.x] = p[3];
  free(p);
}
// launch: <<<1, 32>>> int[32]
__global__ void heap_within(int* a) {
  int* p = (int*)malloc(16);
  p[3] = threadIdx.x;
  a[threadIdx.x] = p[3];
  free(p);
}
// launch: <<<1, 32>>> int[32]
__global__ void heap_after_free(int* a) {
  int* p = (int*)malloc(16);
  p[0] = threadIdx.x;
  free(p);
  a[threadIdx.x] = *(volatile int*)p;  // expect: bounds
}
// launch: <<<1, 32>>> int[32] 8
__global__ void loop_runs_once_too_often(int* a, int n) {
  int sum = 0;
  for (int k = 0; k <= n; k++) sum += a[4 * k];  // expect: bounds
  if (threadIdx.x == 0) a[1] = sum;
}
// launch: <<<1, 32>>> int[32] 8
__global__ void loop_runs_right(int* a, int n) {
  int sum = 0;
  for (int k = 0; k < n; k++) sum += a[4 * k];
  if (threadIdx.x == 0) a[1] = sum;
}
