// Control flow that machine code changes: predication, unrolled and peeled loops, calls, switches, early exits.
#include "common.h"

typedef unsigned int u32;
typedef unsigned long long u64;
#define I (blockIdx.x * blockDim.x + threadIdx.x)

// --- predication -------------------------------------------------------------------------------
__global__ void small_branches(const float* in, float* out, int n) {
  int i = I;
  float v = i < n ? in[i] : 0.0f;
  if (i % 3 == 0 && i < n) v += in[i + 1];
  if (v > 0.5f) out[i] = v;
  else out[i + 4096] = -v;
  if (i % 5 == 1) { float w = in[i * 2]; out[i + 8192] = w * v; }
}
__global__ void select_pointer(const float* a, const float* b, float* out, int n) {
  int i = I;
  if (i >= n) return;
  const float* p = i % 2 ? a : b;
  out[i] = *(p + i) + (i % 4 == 3 ? a[i + 5] : 0.25f);
}
__global__ void guarded_shared(const int* in, int* out, int n) {
  __shared__ int s[256];
  int t = threadIdx.x;
  if (t < n) s[t] = in[I];
  __syncthreads();
  int v = t > 0 && t < n ? s[t - 1] : 0;
  if (t + 3 < n) v += s[t + 3];
  __syncthreads();
  if (t % 2 == 0) s[t] = v;
  __syncthreads();
  out[I] = s[t ^ 1];
}

// --- loops with uniform trips ------------------------------------------------------------------
__global__ void sum_loop(const float* in, float* out, int n) {
  float s = 0;
  for (int k = 0; k < n; k++) s += in[k * 256 + threadIdx.x];
  out[I] = s;
}
__global__ void two_loads(const float* a, const float* b, float* out, int n) {
  float s = 0;
  for (int k = 0; k < n; k++) s += a[I + k * 64] * b[k];
  out[I] = s;
}
__global__ void store_loop(const int* in, int* out, int n) {
  for (int k = 0; k < n; k++) out[k * 512 + I] = in[I] * k;
}
__global__ void indirect_loop(const int* next, int* out, int n) {
  int at = I;
  for (int k = 0; k < n; k++) at = next[at];
  out[I] = at;
}
__global__ void do_while(const int* in, int* out, int n) {
  int k = 0, s = 0;
  do { s += in[I + k]; k += 3; } while (k < n);
  out[I] = s;
}
template <int U> __global__ void unrolled_by(const float* in, float* out, int n) {
  float s = 0;
#pragma unroll U
  for (int k = 0; k < n; k++) s = s * 0.5f + in[I + k * 32];
  out[I] = s;
}
__global__ void constant_trips(const float* in, float* out) {
  float s = 0;
  for (int k = 0; k < 37; k++) s += in[I + k * 128];
  for (int k = 0; k < 6; k++) s *= in[k];
  out[I] = s;
}
__global__ void nested(const float* in, float* out, int n, int m) {
  float s = 0;
  for (int j = 0; j < n; j++) {
    float row = in[j * 7 + threadIdx.x];
    for (int k = 0; k < m; k++) s += row * in[k * 33 + threadIdx.x];
  }
  out[I] = s;
}
__global__ void triangle(const float* in, float* out, int n) {
  float s = 0;
  for (int j = 0; j < n; j++)
    for (int k = 0; k <= j; k++) s += in[(j * 32 + k) + threadIdx.x];
  out[I] = s;
}
__global__ void shared_in_loop(const float* in, float* out, int n) {
  __shared__ float s[128];
  float v = 0;
  for (int k = 0; k < n; k++) {
    s[threadIdx.x] = in[k * 128 + threadIdx.x];
    __syncthreads();
    v += s[127 - threadIdx.x];
    __syncthreads();
  }
  out[I] = v;
}
__global__ void reverse_loop(const float* in, float* out, int n) {
  for (int k = n - 1; k >= 0; k -= 2) out[k * 128 + threadIdx.x] = in[k * 128 + threadIdx.x] + 1.0f;
}

// --- loops whose trips differ between lanes or warps -------------------------------------------
__global__ void lane_trips(const float* in, float* out, int n) {
  float s = 0;
  for (int k = 0; k < (int)(threadIdx.x % n); k++) s += in[I + k * 32];
  out[I] = s;
}
__global__ void warp_trips(const float* in, float* out, int n) {
  float s = 0;
  for (int k = 0; k < (int)(threadIdx.x / 32 + blockIdx.x) % n; k++) s += in[I + k * 32];
  out[I] = s;
}
__global__ void grid_stride(const float* in, float* out, int n) {
  for (int i = I; i < n; i += gridDim.x * blockDim.x) out[i] = in[i] * 2.0f;
}
__global__ void break_when(const int* in, int* out, int n) {
  int k = 0;
  for (; k < n; k++)
    if (in[(I * 13 + k * 7) & 1023] > 700) break;
  out[I] = k;
}
__global__ void continue_when(const int* in, int* out, int n) {
  int s = 0;
  for (int k = 0; k < n; k++) {
    int v = in[(I + k * 5) & 1023];
    if (v % 3 == 0) continue;
    s += in[v];
  }
  out[I] = s;
}
__global__ void search(const int* sorted, const int* keys, int* out, int n) {
  int lo = 0, hi = n, key = keys[I];
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (sorted[mid] < key) lo = mid + 1;
    else hi = mid;
  }
  out[I] = lo;
}
__global__ void collatz(const int* start, int* out) {
  u32 v = start[I] % 97 + 1;
  int steps = 0;
  while (v != 1) { v = v & 1 ? 3 * v + 1 : v / 2; steps++; }
  out[I] = steps;
}

// --- switches, early exits ---------------------------------------------------------------------
__global__ void dense_switch(const int* in, int* out) {
  int v = in[I];
  switch (threadIdx.x % 8) {
    case 0: v += in[I + 1]; break;
    case 1: v *= 3; out[I + 1024] = v; break;
    case 2: v ^= in[v & 255]; break;
    case 3: for (int k = 0; k < 5; k++) v += in[k]; break;
    case 4: v = atomicAdd(out + 4096, 2) * 0; break;
    case 5: v -= in[2 * I]; break;
    case 6: v = __popc(v); break;
    default: return;
  }
  out[I] = v;
}
__global__ void sparse_switch(const int* in, int* out) {
  int v = in[I];
  switch (v % 1000) {
    case 3: out[I] = 1; break;
    case 77: out[I] = in[I + 7]; break;
    case 500: v += 9;  // falls through
    case 501: out[I] = v; break;
    case 912: out[I] = in[v]; break;
    default: out[I] = -1;
  }
}
__global__ void early_exit(const float* in, float* out, int n) {
  int i = I;
  if (i >= n) return;
  float v = in[i];
  if (v < 0.2f) return;
  out[i] = v;
  if (threadIdx.x % 4 == 3) return;
  for (int k = 0; k < 3; k++) {
    v += in[i + k];
    if (v > 2.0f) return;
    out[i + k * 2048] = v;
  }
}
__global__ void with_goto(const int* in, int* out, int n) {
  int v = in[I], k = 0;
again:
  v = v * 5 + 3;
  if (v & 16) { out[I + 2048] = v; goto skip; }
  out[I] = v;
skip:
  if (++k < n) goto again;
  out[I + 4096] = v;
}
__global__ void roles(const float* in, float* out) {
  __shared__ float s[64];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp == 0) s[lane] = in[blockIdx.x * 64 + lane];
  else if (warp == 1) s[32 + lane] = in[blockIdx.x * 64 + 63 - lane];
  __syncthreads();
  if (warp == 2) out[blockIdx.x * 32 + lane] = s[lane] + s[63 - lane];
  else if (lane < 7) out[4096 + blockIdx.x * 128 + threadIdx.x] = s[lane * 9];
}

// --- functions ---------------------------------------------------------------------------------
__device__ __noinline__ float fetch(const float* p, int i) { return p[i] + p[i + 32]; }
__device__ __noinline__ void deposit(float* p, int i, float v) { if (v > 0.1f) p[i] = v; }
__device__ __forceinline__ float blend(const float* p, int i) { return p[i] * 0.5f + p[i + 1]; }
__global__ void calls(const float* in, float* out, int n) {
  float v = fetch(in, I);
  if (I % 3) v += fetch(in, I * 2);
  for (int k = 0; k < n; k++) deposit(out, I + k * 1024, v - k * 0.3f);
  out[I + 8192] = blend(in, I) + blend(in, I + 9);
}
__device__ __noinline__ int depth_first(const int* tree, int node, int n) {
  if (node >= n) return 0;
  return tree[node] + depth_first(tree, 2 * node + 1, n) + depth_first(tree, 2 * node + 2, n);
}
__global__ void recursive(const int* tree, int* out, int n) { out[I] = depth_first(tree, threadIdx.x % 5, n); }
typedef float (*Function)(const float*, int);
__device__ float first(const float* p, int i) { return p[i]; }
__device__ float strided(const float* p, int i) { return p[i * 4]; }
__device__ float reversed(const float* p, int i) { return p[1023 - i]; }
__device__ Function table[3] = {first, strided, reversed};
__global__ void pointers(const float* in, float* out, const int* which) {
  Function f = table[which[I] % 3];
  out[I] = f(in, threadIdx.x);
}
__device__ __noinline__ void sort_local(int* v, int n) {
  for (int i = 1; i < n; i++)
    for (int j = i; j > 0 && v[j - 1] > v[j]; j--) { int x = v[j]; v[j] = v[j - 1]; v[j - 1] = x; }
}
__global__ void local_pointer(const int* in, int* out) {
  int v[8];
  for (int k = 0; k < 8; k++) v[k] = in[I * 8 + k] % 50;
  sort_local(v, 8);
  for (int k = 0; k < 8; k++) out[I + k * 1024] = v[k];
}
template <class F> __device__ float apply(const float* in, int n, F f) {
  float s = 0;
  for (int k = 0; k < n; k++) s = f(s, in[I + k * 16]);
  return s;
}
__global__ void lambdas(const float* in, float* out, int n) {
  out[I] = apply(in, n, [](float a, float b) { return a + b; });
  out[I + 1024] = apply(in, n, [](float a, float b) { return fmaxf(a, b); });
}

// --- arithmetic with slow paths, shuffles, votes -----------------------------------------------
__global__ void divisions(const float* a, const int* b, float* out, int n) {
  float v = a[I] / (a[I + 1] + 1.0f);
  int q = b[I] / (b[I + 1] % 13 + 1);
  u64 w = (u64)(b[I] + 5ull) / (u64)(b[I + 2] % 9 + 2);
  out[I] = v + q + (float)w + sqrtf(a[I + 3]);
}
__global__ void warp_sums(const float* in, float* out, int n) {
  float v = I < n ? in[I] : 0.0f;
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
  u32 high = __ballot_sync(~0u, v > 16.0f);
  if (threadIdx.x % 32 == 0) out[I / 32] = v + __popc(high);
}
__global__ void compact(const int* in, int* out, int* count, int n) {
  int v = in[I];
  bool keep = v % 3 == 0;
  u32 votes = __ballot_sync(~0u, keep);
  int lane = threadIdx.x % 32, base = 0;
  if (lane == 0) base = atomicAdd(count, __popc(votes));
  base = __shfl_sync(~0u, base, 0) * 0 + (I - lane);
  if (keep) out[base + __popc(votes & ((1u << lane) - 1))] = v;
}
extern __shared__ float dynamic[];
__global__ void dynamic_shared(const float* in, float* out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) dynamic[i] = in[i];
  __syncthreads();
  float s = 0;
  for (int i = threadIdx.x; i < n; i += 33) s += dynamic[i];
  out[I] = s;
}
__global__ void no_memory(int n) {
  int s = 0;
  for (int k = 0; k < n; k++) s = s * 3 + k;
  if (s == 123456789) __nanosleep(1);
}

#define CASE(NAME, ...) cases.push_back({NAME, [=] { __VA_ARGS__; }})
int main(int argc, char** argv) {
  float *f = dfloat(1 << 16), *o = dalloc<float>(1 << 16);
  int *v = dints(1 << 16, 1000), *w = dalloc<int>(1 << 16), *links = dints(1 << 12, 1 << 12);
  std::vector<int> rising(1000);
  for (int i = 0; i < 1000; i++) rising[i] = i;
  int* sorted = dalloc<int>(1000);
  CK(cudaMemcpy(sorted, rising.data(), 4000, cudaMemcpyHostToDevice));
  CASE("small_branches", small_branches<<<8, 128>>>(f, o, 1000));
  CASE("select_pointer", select_pointer<<<8, 128>>>(f, f + 5000, o, 1001));
  CASE("guarded_shared", guarded_shared<<<3, 256>>>(v, w, 217));
  for (int n : {0, 1, 2, 3, 4, 5, 7, 8, 22}) {
    std::string trips = ":" + std::to_string(n);
    CASE("sum_loop" + trips, sum_loop<<<4, 128>>>(f, o, n));
    CASE("two_loads" + trips, two_loads<<<4, 96>>>(f, f + 999, o, n));
    CASE("store_loop" + trips, store_loop<<<4, 128>>>(v, w, n));
    CASE("indirect_loop" + trips, indirect_loop<<<4, 128>>>(links, w, n));
    CASE("unrolled_by<3>" + trips, unrolled_by<3><<<4, 128>>>(f, o, n));
    CASE("unrolled_by<8>" + trips, unrolled_by<8><<<4, 128>>>(f, o, n));
    CASE("shared_in_loop" + trips, shared_in_loop<<<4, 128>>>(f, o, n));
    CASE("continue_when" + trips, continue_when<<<4, 128>>>(v, w, n));
    CASE("calls" + trips, calls<<<4, 128>>>(f, o, n));
  }
  for (int n : {1, 4, 10, 19}) {
    std::string trips = ":" + std::to_string(n);
    CASE("unrolled_by<1>" + trips, unrolled_by<1><<<4, 128>>>(f, o, n));
    CASE("unrolled_by<2>" + trips, unrolled_by<2><<<4, 128>>>(f, o, n));
    CASE("do_while" + trips, do_while<<<4, 128>>>(v, w, n));
    CASE("nested" + trips, nested<<<4, 128>>>(f, o, n, 9));
    CASE("nested_inner" + trips, nested<<<4, 128>>>(f, o, 5, n));
    CASE("triangle" + trips, triangle<<<4, 128>>>(f, o, n));
    CASE("reverse_loop" + trips, reverse_loop<<<1, 128>>>(f, o, n));
    CASE("lane_trips" + trips, lane_trips<<<4, 128>>>(f, o, n));
    CASE("warp_trips" + trips, warp_trips<<<4, 128>>>(f, o, n));
    CASE("break_when" + trips, break_when<<<4, 128>>>(v, w, n));
    CASE("with_goto" + trips, with_goto<<<4, 128>>>(v, w, n));
    CASE("lambdas" + trips, lambdas<<<4, 128>>>(f, o, n));
  }
  CASE("constant_trips", constant_trips<<<4, 128>>>(f, o));
  for (int n : {1024, 1000, 4097, 30000}) CASE("grid_stride:" + std::to_string(n), grid_stride<<<8, 128>>>(f, o, n));
  CASE("search", search<<<8, 128>>>(sorted, v, w, 1000));
  CASE("collatz", collatz<<<8, 128>>>(v, w));
  CASE("dense_switch", dense_switch<<<8, 128>>>(v, w));
  CASE("sparse_switch", sparse_switch<<<8, 128>>>(v, w));
  CASE("early_exit", early_exit<<<8, 128>>>(f, o, 1010));
  CASE("roles", roles<<<8, 96>>>(f, o));
  CASE("recursive", recursive<<<2, 64>>>(v, w, 20));
  CASE("pointers", pointers<<<4, 128>>>(f, o, v));
  CASE("local_pointer", local_pointer<<<4, 128>>>(v, w));
  CASE("divisions", divisions<<<4, 128>>>(f, v, o, 0));
  CASE("warp_sums", warp_sums<<<4, 128>>>(f, o, 500));
  CASE("compact", compact<<<4, 128>>>(v, w, w + 30000, 512));
  CASE("dynamic_shared", dynamic_shared<<<4, 128, 4000>>>(f, o, 1000));
  CASE("no_memory", no_memory<<<4, 128>>>(10));
  return run_all(argc, argv);
}
