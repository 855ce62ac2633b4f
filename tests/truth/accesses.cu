// Memory accesses one by one: widths, partial warps, atomics of each type, wide accesses to shared memory, local arrays.
#include "common.h"
#include <cuda_fp16.h>
#include <cuda_bf16.h>

typedef unsigned int u32;
typedef unsigned long long u64;
struct Masks { u32 of_block[8]; };  // the lanes that take part, by block
static const Masks kMasks = {{~0u, 0xaaaaaaaau, 1u, 0x80000000u, 0xffffu, 0xffff0000u, 0x00f0f00fu, 0x91248123u}};

// --- global memory: each width, under masks ----------------------------------------------------
template <class T> __global__ void load_masked(const T* in, T* out, Masks masks, int mul, int off) {
  int t = threadIdx.x;
  if (masks.of_block[blockIdx.x] >> t & 1) out[blockIdx.x * 32 + t] = in[t * mul + off];
}
template <class T> __global__ void store_masked(const T* in, T* out, Masks masks, int mul, int off) {
  int t = threadIdx.x;
  T v = in[t];
  if (masks.of_block[blockIdx.x] >> t & 1) out[blockIdx.x * 4096 + t * mul + off] = v;
}
template <class T> __global__ void gather_masked(const T* in, T* out, const int* index, Masks masks) {
  int t = threadIdx.x;
  if (masks.of_block[blockIdx.x] >> t & 1) out[blockIdx.x * 32 + t] = in[index[t]];
}
__global__ void cached(const float4* in, float4* out) {  // cache operators, read-only and streaming
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 a = __ldg(in + i), b = __ldcs(in + i + 7), c = __ldcg(in + i * 2), d = __ldcv(in + 3);
  __stcs(out + i, make_float4(a.x + b.x, a.y + c.y, a.z + d.z, a.w));
  __stwt((float2*)(out + 8192) + i, make_float2(b.y, c.z));
}
__global__ void misaligned_rows(const uchar1* in, uchar1* out, int width, int pitch) {
  int x = threadIdx.x + blockIdx.x * blockDim.x, y = blockIdx.y;
  if (x < width) out[y * pitch + x] = in[(y + 1) * pitch - 1 - x];
}

// --- shared memory: 64 and 128 bits, one warp, any index ---------------------------------------
template <class T> __global__ void shared_load(const T* in, T* out, const int* index, u32 mask) {
  __shared__ T s[512];
  int t = threadIdx.x;
#pragma unroll 1
  for (int i = t; i < 512; i += 32) s[i] = in[i];
  int at = index[t];
  __syncthreads();
  if (mask >> t & 1) out[t] = s[at];
}
template <class T> __global__ void shared_store(const T* in, T* out, const int* index, u32 mask) {
  __shared__ T s[512];
  int t = threadIdx.x, at = index[t];
  T v = in[t];
  if (mask >> t & 1) s[at] = v;
  __syncthreads();
  out[t] = s[t];
}

// --- atomics: every operation, result unused and used ------------------------------------------
#define BOTH(T, CALL, ...) { T* p = (T*)base + at; CALL(p, ##__VA_ARGS__); p += 1024; sum += (u64)CALL(p, ##__VA_ARGS__); base += 1 << 16; }
__device__ inline u64 bits(float2 v) { return __float_as_uint(v.x) + __float_as_uint(v.y); }
__device__ inline u64 bits(__half2 v) { return (u64)__half2float(v.x); }
__global__ void atomics_global(char* base, const int* index, u64* out, u32 mask) {
  int t = threadIdx.x, at = index[t];
  u64 sum = 0;
  if (mask >> t & 1) {
    BOTH(int, atomicAdd, t + 1) BOTH(u32, atomicAdd, 1u) BOTH(u64, atomicAdd, (u64)t) BOTH(float, atomicAdd, 0.5f)
    BOTH(double, atomicAdd, 0.25) BOTH(int, atomicSub, t) BOTH(int, atomicMin, t) BOTH(int, atomicMax, t)
    BOTH(u32, atomicMin, t + 3u) BOTH(u32, atomicMax, t + 3u) BOTH(long long, atomicMin, t - 9ll)
    BOTH(long long, atomicMax, t - 9ll) BOTH(u64, atomicMin, t + 9ull) BOTH(u64, atomicMax, t + 9ull)
    BOTH(u32, atomicInc, 77u) BOTH(u32, atomicDec, 77u) BOTH(u32, atomicAnd, ~t) BOTH(u32, atomicOr, t)
    BOTH(u32, atomicXor, t) BOTH(u64, atomicAnd, (u64)~t) BOTH(u64, atomicOr, (u64)t) BOTH(u64, atomicXor, (u64)t)
    BOTH(u32, atomicExch, t) BOTH(u64, atomicExch, (u64)t) BOTH(float, atomicExch, t * 0.5f)
    BOTH(u32, atomicCAS, 0u, t) BOTH(u64, atomicCAS, 0ull, (u64)t)
  }
  out[t] = sum;
}
__global__ void atomics_halves(char* base, const int* index, u64* out, u32 mask) {
  int t = threadIdx.x, at = index[t];
  u64 sum = 0;
  if (mask >> t & 1) {
    __half2* h = (__half2*)base + at;
    atomicAdd(h, __float2half2_rn(1.0f));
    sum += bits(atomicAdd(h + 1024, __float2half2_rn(2.0f)));
    atomicAdd((__half*)base + 16384 + at, __float2half(1.0f));
#if __CUDA_ARCH__ >= 900
    atomicAdd((__nv_bfloat162*)base + 4096 + at, __float2bfloat162_rn(1.0f));
    float2* f = (float2*)base + 8192 + at;
    atomicAdd(f, make_float2(1.0f, 2.0f));
    sum += bits(atomicAdd(f + 1024, make_float2(1.0f, 2.0f)));
    atomicAdd((float4*)base + 8192 + at, make_float4(1.0f, 2.0f, 3.0f, 4.0f));
#endif
  }
  out[t] = sum;
}
#define ON(T, N, CALL, ...) { T* p = (T*)(s + N * 512) + at; CALL(p, ##__VA_ARGS__); }
#define GET(T, N, CALL, ...) { T* p = (T*)(s + N * 512) + at; sum += (u64)CALL(p, ##__VA_ARGS__); }
__global__ void atomics_shared_integer(const int* index, u64* out, u32 mask) {
  __shared__ __align__(8) char s[10 * 512];
  int t = threadIdx.x, at = index[t];
  for (int i = t; i < 10 * 128; i += 32) ((int*)s)[i] = 0;
  __syncthreads();
  u64 sum = 0;
  if (mask >> t & 1) {
    ON(int, 0, atomicAdd, t + 1) GET(int, 1, atomicAdd, t + 2) ON(u32, 2, atomicAdd, 1u) GET(u32, 3, atomicAdd, 1u)
    ON(int, 0, atomicMin, t) GET(int, 1, atomicMax, t) ON(u32, 2, atomicMax, t) GET(u32, 3, atomicMin, t)
    ON(u32, 4, atomicInc, 77u) GET(u32, 5, atomicDec, 77u) ON(u32, 4, atomicAnd, ~t) GET(u32, 5, atomicOr, t)
    ON(u32, 6, atomicXor, t) GET(u32, 7, atomicXor, t) ON(u32, 6, atomicExch, t) GET(u32, 7, atomicExch, t)
    ON(u32, 8, atomicCAS, 0u, t) GET(u32, 9, atomicCAS, 0u, t) ON(int, 8, atomicSub, 3) GET(int, 9, atomicSub, 3)
  }
  __syncthreads();
  out[t] = sum + ((int*)s)[t] + ((int*)s)[t + 600];
}
__global__ void atomics_shared_wide(const int* index, u64* out, u32 mask) {
  __shared__ u64 wide[8 * 128];
  char* s = (char*)wide;
  int t = threadIdx.x, at = index[t];
  for (int i = t; i < 8 * 128; i += 32) wide[i] = 0;
  __syncthreads();
  u64 sum = 0;
  if (mask >> t & 1) {
    ON(u64, 0, atomicAdd, (u64)t + 1) GET(u64, 2, atomicAdd, (u64)t + 1) ON(u64, 4, atomicExch, (u64)t)
    GET(u64, 6, atomicExch, (u64)t) ON(u64, 8, atomicCAS, 0ull, (u64)t) GET(u64, 10, atomicCAS, 0ull, (u64)t)
  }
  __syncthreads();
  out[t] = sum + wide[t];
}
template <class T, class F> __device__ void shared_atomic(T* s, const int* index, T* out, u32 mask, F f) {
  int t = threadIdx.x;
  s[t] = T(); s[t + 32] = T(); s[t + 64] = T(); s[t + 96] = T();
  int at = index[t];
  __syncthreads();
  if (mask >> t & 1) f(s + at);
  __syncthreads();
  out[t] = s[t];
}
#define SHARED_ATOMIC(NAME, T, CALL)                                               \
  __global__ void NAME(const int* index, T* out, u32 mask) {                       \
    __shared__ T s[128];                                                           \
    shared_atomic(s, index, out, mask, [](T* p) { int t = threadIdx.x; (void)t; CALL; }); \
  }
SHARED_ATOMIC(shared_add_float, float, atomicAdd(p, 1.0f + t))
SHARED_ATOMIC(shared_add_double, double, atomicAdd(p, 1.0 + t))
SHARED_ATOMIC(shared_add_half2, __half2, atomicAdd(p, __float2half2_rn(1.0f)))
SHARED_ATOMIC(shared_min_u64, u64, atomicMin(p, (u64)t))
SHARED_ATOMIC(shared_max_s64, long long, atomicMax(p, (long long)t))
SHARED_ATOMIC(shared_or_u64, u64, atomicOr(p, 1ull << t))
SHARED_ATOMIC(shared_get_float, float, *p += 0.0f * atomicAdd(p, 2.0f))

// --- local memory: arrays of each width, spills ------------------------------------------------
template <class T, int N> __global__ void local_array(const T* in, T* out, const int* index, Masks masks) {
  T r[N];
  int t = threadIdx.x;
#pragma unroll 1
  for (int k = 0; k < N; k++) r[k] = in[k * 32 + t];
  if (masks.of_block[blockIdx.x] >> t & 1) {
    T v = r[index[t] % N];
    r[(t * 5 + 1) % N] = v;
    out[blockIdx.x * 32 + t] = r[(index[t] + t) % N];
  }
}
struct Triple { float x, y, z; };
__global__ void local_structs(const Triple* in, float* out, const int* index) {
  Triple r[9];
  int t = threadIdx.x;
  for (int k = 0; k < 9; k++) r[k] = in[k * 32 + t];
  Triple v = r[index[t] % 9];
  if (t % 3) r[index[31 - t] % 9].y = v.x;
  out[t] = r[t % 9].y + v.z;
}
template <int N> __global__ void __launch_bounds__(1024, 2) spills(const double* in, double* out, int n) {
  double r[N];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
#pragma unroll
  for (int k = 0; k < N; k++) r[k] = in[i + k * 1000];
  double s = 0;
#pragma unroll
  for (int k = 0; k < N; k++) s += r[k] * r[N - 1 - k];
  __threadfence_block();
#pragma unroll
  for (int k = 0; k < N; k++) s = s * 0.5 + r[k] * r[(k * 7) % N];
  out[i] = s;
}

static int* indices(std::function<int(int)> f) {
  int h[32], *d = dalloc<int>(32);
  for (int t = 0; t < 32; t++) h[t] = f(t);
  CK(cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice));
  return d;
}
#define CASE(NAME, ...) cases.push_back({NAME, [=] { __VA_ARGS__; }})

int main(int argc, char** argv) {
  char *p = dalloc<char>(1 << 22), *q = dalloc<char>(1 << 22);
  struct Pattern { std::string name; int* index; };
  std::vector<Pattern> patterns = {
      {"pairs", indices([](int t) { return t / 2; })},
      {"alternate", indices([](int t) { return (t & 1) + t / 4 * 2; })},
      {"quads", indices([](int t) { return t / 4; })},
      {"one", indices([](int) { return 5; })},
      {"straight", indices([](int t) { return t; })},
      {"stride_16", indices([](int t) { return t * 16; })},
      {"stride_3", indices([](int t) { return t * 3; })},
      {"mixed", indices([](int t) { return (t * 37 + t / 3) % 101; })},
  };
  struct Mask { std::string name; u32 lanes; };
  std::vector<Mask> masks = {
      {"all", ~0u}, {"even", 0x55555555u}, {"without_0", 0xfffffffeu}, {"low_pairs", 0x33333333u},
      {"without_1_and_6", 0xffffffbdu}, {"low_bytes", 0x00ff00ffu}, {"two", 0x00010001u}, {"odd", 0x91248123u},
      {"high_pairs", 0xccccccccu}, {"without_first_pair", 0xfffffffcu}, {"uneven", 0xaaaaaaaau}, {"upper", 0xffff0000u},
  };
#define WIDTH(T)                                                                                              \
  CASE("load_masked<" #T ">", load_masked<T><<<8, 32>>>((T*)p, (T*)q, kMasks, 1, 0));                         \
  CASE("load_masked<" #T ">:3,1", load_masked<T><<<8, 32>>>((T*)p, (T*)q, kMasks, 3, 1));                     \
  CASE("store_masked<" #T ">", store_masked<T><<<8, 32>>>((T*)p, (T*)q, kMasks, 1, 0));                       \
  CASE("store_masked<" #T ">:3,1", store_masked<T><<<8, 32>>>((T*)p, (T*)q, kMasks, 3, 1));                   \
  CASE("gather_masked<" #T ">", gather_masked<T><<<8, 32>>>((T*)p, (T*)q, patterns[7].index, kMasks));
  WIDTH(char) WIDTH(short) WIDTH(int) WIDTH(double) WIDTH(uchar2) WIDTH(uchar4) WIDTH(short4) WIDTH(float2)
  WIDTH(float4) WIDTH(longlong2) WIDTH(Triple)
  CASE("cached", cached<<<8, 96>>>((float4*)p, (float4*)q));
  CASE("misaligned_rows", misaligned_rows<<<dim3(3, 9), 64>>>((uchar1*)p, (uchar1*)q, 161, 163));
  for (auto& pattern : patterns)
    for (auto& mask : masks) {
      std::string name = pattern.name + "," + mask.name;
      int* at = pattern.index;
      u32 lanes = mask.lanes;
      CASE("shared_load<double>:" + name, shared_load<double><<<1, 32>>>((double*)p, (double*)q, at, lanes));
      CASE("shared_load<int4>:" + name, shared_load<int4><<<1, 32>>>((int4*)p, (int4*)q, at, lanes));
      if (&pattern - &patterns[0] < 2 || &pattern == &patterns[7]) {
        CASE("shared_store<int2>:" + name, shared_store<int2><<<1, 32>>>((int2*)p, (int2*)q, at, lanes));
        CASE("shared_store<float4>:" + name, shared_store<float4><<<1, 32>>>((float4*)p, (float4*)q, at, lanes));
      }
    }
  for (int which : {0, 3, 4, 7})
    for (int m : {0, 3, 7}) {
      std::string name = patterns[which].name + "," + masks[m].name;
      int* at = patterns[which].index;
      u32 lanes = masks[m].lanes;
      CASE("atomics_global:" + name, atomics_global<<<1, 32>>>(p, at, (u64*)q, lanes));
      CASE("atomics_halves:" + name, atomics_halves<<<1, 32>>>(p, at, (u64*)q, lanes));
      CASE("atomics_shared_integer:" + name, atomics_shared_integer<<<1, 32>>>(at, (u64*)q, lanes));
      CASE("atomics_shared_wide:" + name, atomics_shared_wide<<<1, 32>>>(at, (u64*)q, lanes));
#define SHARED(NAME, T) CASE(#NAME ":" + name, NAME<<<1, 32>>>(at, (T*)q, lanes));
      SHARED(shared_add_float, float) SHARED(shared_add_double, double) SHARED(shared_add_half2, __half2)
      SHARED(shared_min_u64, u64) SHARED(shared_max_s64, long long) SHARED(shared_or_u64, u64)
      SHARED(shared_get_float, float)
    }
#define LOCAL(T, N) CASE("local_array<" #T "," #N ">", local_array<T, N><<<8, 32>>>((T*)p, (T*)q, patterns[7].index, kMasks));
  LOCAL(char, 24) LOCAL(short, 17) LOCAL(int, 13) LOCAL(double, 11) LOCAL(float2, 10) LOCAL(int4, 9)
  CASE("local_structs", local_structs<<<2, 32>>>((Triple*)p, (float*)q, patterns[7].index));
  CASE("spills<24>", spills<24><<<4, 256>>>((double*)p, (double*)q, 1024));
  CASE("spills<24>:ragged", spills<24><<<4, 256>>>((double*)p, (double*)q, 1003));
  CASE("spills<40>", spills<40><<<4, 256>>>((double*)p, (double*)q, 1024));
  return run_all(argc, argv);
}
