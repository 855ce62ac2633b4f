// Micro-benchmarks: each kernel keeps one unit of the device busy, or waits for one latency again and again.
// clocks[block] receives the SM's cycles of the timed part, seen by the block's first thread.
typedef unsigned int u32;
typedef unsigned long long u64;

#define X2(x) x x
#define X4(x) X2(x) X2(x)
#define X8(x) X4(x) X4(x)
#define X16(x) X8(x) X8(x)
#define X32(x) X16(x) X16(x)

__device__ __forceinline__ long long ticks() {
  long long t;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
  return t;
}

// One chain of dependent instructions (latency), and eight independent chains (rate), of an instruction ONE(v).
#define CHAINS(NAME, TYPE, ONE)                                                                                      \
  extern "C" __global__ void latency_##NAME(long long* clocks, TYPE* out, int trips, TYPE a, TYPE b) {                \
    TYPE v = (TYPE)threadIdx.x + a;                                                                                   \
    long long start = ticks();                                                                                        \
    _Pragma("unroll 1") for (int i = 0; i < trips; i++) { X32(ONE(v)) }                                               \
    long long end = ticks();                                                                                          \
    if (threadIdx.x == 0) clocks[blockIdx.x] = end - start;                                                           \
    out[blockIdx.x * blockDim.x + threadIdx.x] = v;                                                                   \
  }                                                                                                                   \
  extern "C" __global__ void rate_##NAME(long long* clocks, TYPE* out, int trips, TYPE a, TYPE b) {                   \
    TYPE v0 = (TYPE)threadIdx.x + a, v1 = v0 + a, v2 = v1 + a, v3 = v2 + b, v4 = v3 + a, v5 = v4 + b, v6 = v5 + a,    \
         v7 = v6 + b;                                                                                                 \
    __syncthreads();                                                                                                  \
    long long start = ticks();                                                                                        \
    _Pragma("unroll 1") for (int i = 0; i < trips; i++) {                                                             \
      X4(ONE(v0) ONE(v1) ONE(v2) ONE(v3) ONE(v4) ONE(v5) ONE(v6) ONE(v7))                                             \
    }                                                                                                                 \
    __syncthreads();                                                                                                  \
    long long end = ticks();                                                                                          \
    if (threadIdx.x == 0) clocks[blockIdx.x] = end - start;                                                           \
    out[blockIdx.x * blockDim.x + threadIdx.x] = v0 + v1 + v2 + v3 + v4 + v5 + v6 + v7;                               \
  }

#define FFMA(v) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(v) : "f"(a), "f"(b));
#define FADD(v) asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(v) : "f"(a));
#define DFMA(v) asm volatile("fma.rn.f64 %0, %0, %1, %2;" : "+d"(v) : "d"(a), "d"(b));
#define RSQRT(v) asm volatile("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(v));
#define IMAD(v) asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(v) : "r"(a), "r"(b));
#define LOP3(v) asm volatile("lop3.b32 %0, %0, %1, %2, 0xE8;" : "+r"(v) : "r"(a), "r"(b));
#define SHIFT(v) asm volatile("shf.l.wrap.b32 %0, %0, %1, %2;" : "+r"(v) : "r"(a), "r"(b));
#define IMAX(v) asm volatile("max.s32 %0, %0, %1; min.s32 %0, %0, %2;" : "+r"(v) : "r"(a), "r"(b));
#define POPC(v) asm volatile("popc.b32 %0, %0;" : "+r"(v));
#define SHFL(v) asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 0x1f, 0xffffffff;" : "+r"(v));
#define VOTE(v) asm volatile("{.reg .pred p; setp.ne.u32 p, %0, 7; vote.sync.ballot.b32 %0, p, 0xffffffff;}" : "+r"(v));
#define CONVERT(v) asm volatile("cvt.rn.f32.s32 %0, %0;" : "+r"(*(u32*)&v));
#define HFMA2(v) asm volatile("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(v) : "r"(a), "r"(b));
CHAINS(ffma, float, FFMA)
CHAINS(fadd, float, FADD)
CHAINS(dfma, double, DFMA)
CHAINS(rsqrt, float, RSQRT)
CHAINS(imad, u32, IMAD)
CHAINS(lop3, u32, LOP3)
CHAINS(shift, u32, SHIFT)
CHAINS(imax, u32, IMAX)
CHAINS(popc, u32, POPC)
CHAINS(shfl, u32, SHFL)
CHAINS(vote, u32, VOTE)
CHAINS(hfma2, u32, HFMA2)
#undef CONVERT
#define CONVERT(v) asm volatile("{.reg .b32 t; cvt.rni.s32.f32 t, %0; mov.b32 %0, t;}" : "+f"(v));
CHAINS(convert, float, CONVERT)

// Pointer chase by the threads of a block, each from out[thread] on: ring[i] is the index of the next element.
#define CHASE(NAME, CACHE)                                                                                            \
  extern "C" __global__ void chase_##NAME(long long* clocks, u32* out, const u32* ring, int warm, int steps) {        \
    u32 at = out[threadIdx.x];                                                                                        \
    for (int i = 0; i < warm; i++) asm volatile("ld.global." CACHE ".u32 %0, [%1];" : "=r"(at) : "l"(ring + at));     \
    long long start = ticks();                                                                                        \
    _Pragma("unroll 1") for (int i = 0; i < steps; i += 16) {                                                         \
      X16(asm volatile("ld.global." CACHE ".u32 %0, [%1];" : "=r"(at) : "l"(ring + at));)                             \
    }                                                                                                                 \
    long long end = ticks();                                                                                          \
    clocks[blockIdx.x] = end - start;                                                                                 \
    out[threadIdx.x] = at;                                                                                            \
  }
CHASE(l1, "ca")
CHASE(l2, "cg")

extern "C" __global__ void chase_shared(long long* clocks, u32* out, int steps) {
  __shared__ u32 ring[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) ring[i] = (u32)__cvta_generic_to_shared(&ring[(i + 33) % 256]);
  __syncthreads();
  u32 at = (u32)__cvta_generic_to_shared(&ring[threadIdx.x % 256]);
  long long start = ticks();
#pragma unroll 1
  for (int i = 0; i < steps; i += 16) { X16(asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at));) }
  long long end = ticks();
  if (threadIdx.x == 0) clocks[blockIdx.x] = end - start;
  out[threadIdx.x] = at;
}

__constant__ u32 table[16384];
extern "C" __global__ void chase_constant(long long* clocks, u32* out, int steps) {
  u32 at = threadIdx.x >> 5;
  for (int i = 0; i < steps; i++) at = table[at];
  long long start = ticks();
#pragma unroll 1
  for (int i = 0; i < steps; i += 16) { X16(at = table[at];) }
  long long end = ticks();
  if (threadIdx.x == 0) clocks[blockIdx.x] = end - start;
  out[threadIdx.x] = at;
}
// Each lane reads its own element: `distinct` of them in a warp, `step` elements apart; the table holds zeros.
extern "C" __global__ void rate_constant(long long* clocks, u32* out, int trips, int distinct, int step) {
  u32 at = (threadIdx.x % 32) % distinct * step, sum = 0;
  __syncthreads();
  long long start = ticks();
#pragma unroll 1
  for (int i = 0; i < trips; i++) { X8(sum += table[at]; at = (at + (sum >> 20)) & 16383;) }
  __syncthreads();
  long long end = ticks();
  if (threadIdx.x == 0) clocks[blockIdx.x] = end - start;
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// The same, with `distinct` places in a warp and `between` words from warp to warp, which all move by `move` words within
// the last `size` words of the table (a power of two); the second time round is timed.
extern "C" __global__ void walk_constant(long long* clocks, u32* out, int trips, int distinct, int step, int between, int move, u32 size) {
  u32 first = threadIdx.x % 32 % distinct * step + threadIdx.x / 32 * between, sum = 0;
  long long start = 0;
  for (int round = 0; round < 2; round++) {
    u32 at = first;
    if (round) { __syncthreads(); start = ticks(); }
#pragma unroll 1
    for (int i = 0; i < trips; i++) { X8(sum += table[16384 - size + (at & (size - 1))]; at += move;) }
  }
  __syncthreads();
  long long end = ticks();
  if (threadIdx.x == 0) clocks[blockIdx.x] = end - start;
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
// Loads from shared memory by the first `on` warps of a block; in the others no lane's predicate holds.
extern "C" __global__ void predicated_loads(long long* clocks, u32* out, int trips, int on) {
  __shared__ u32 words[2048];
  for (int i = threadIdx.x; i < 2048; i += blockDim.x) words[i] = 0;
  __syncthreads();
  bool mine = threadIdx.x / 32 < on;
  volatile u32* place = words + threadIdx.x;
  u32 a = 0, b = 0, sum = 0;
  long long start = ticks();
#pragma unroll 1
  for (int i = 0; i < trips; i++) {
    X8(if (mine) a = place[0]; sum += a; if (mine) b = place[1024]; sum ^= b;)
  }
  __syncthreads();
  long long end = ticks();
  if (threadIdx.x == 0) clocks[blockIdx.x] = end - start;
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
#if __CUDA_ARCH__ >= 800
// Matrix instructions of a warp, 16 x 8 x 16 of halves, sums in f32: eight chains, or one.
#define MATRIX(d)                                                                                                     \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%4,%4,%4},{%4,%4},{%0,%1,%2,%3};"   \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a));
extern "C" __global__ void rate_matrix(long long* clocks, float* out, int trips, u32 a) {
  float d[8][4] = {};
  __syncthreads();
  long long start = ticks();
#pragma unroll 1
  for (int i = 0; i < trips; i++) {
    X4(MATRIX(d[0]) MATRIX(d[1]) MATRIX(d[2]) MATRIX(d[3]) MATRIX(d[4]) MATRIX(d[5]) MATRIX(d[6]) MATRIX(d[7]))
  }
  __syncthreads();
  long long end = ticks();
  if (threadIdx.x == 0) clocks[blockIdx.x] = end - start;
  for (int k = 0; k < 8; k++) out[blockIdx.x * blockDim.x + threadIdx.x] += d[k][0] + d[k][1] + d[k][2] + d[k][3];
}
extern "C" __global__ void latency_matrix(long long* clocks, float* out, int trips, u32 a) {
  float d[4] = {};
  long long start = ticks();
#pragma unroll 1
  for (int i = 0; i < trips; i++) { X32(MATRIX(d)) }
  long long end = ticks();
  if (threadIdx.x == 0) clocks[blockIdx.x] = end - start;
  out[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}
#endif
#if __CUDA_ARCH__ >= 900
// One thread asks the copy engine for `bytes` again and again, each time when the last have come.
extern "C" __global__ void bulk_copy(long long* clocks, const char* in, int bytes, int trips) {
  extern __shared__ __align__(128) u32 words[];
  __shared__ __align__(8) u64 barrier;
  u32 to = (u32)__cvta_generic_to_shared(words), told = (u32)__cvta_generic_to_shared(&barrier);
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.mbarrier_init.release.cluster;" ::"r"(told) : "memory");
  long long start = ticks();
  for (int i = 0; i < trips; i++) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(told), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(in), "r"(bytes), "r"(told) : "memory");
    asm volatile("{.reg .pred p; again%=: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again%=;}" ::"r"(told), "r"(i & 1) : "memory");
  }
  clocks[blockIdx.x] = ticks() - start;
}
#endif

// Loads of zeros, four chains a thread: each address follows from the value loaded before. Lanes are `stride` elements
// apart. LOAD(v, at) loads, SUM(v) uses all of it.
#define LOADS(NAME, TYPE, POINTER, BEGIN, LOAD, SUM)                                                                  \
  extern "C" __global__ void NAME(long long* clocks, u32* out, const TYPE* in, int trips, int stride) {               \
    __shared__ TYPE words[2048];                                                                                      \
    for (int i = threadIdx.x; i < 2048; i += blockDim.x) words[i] = TYPE();                                           \
    __syncthreads();                                                                                                  \
    int place = threadIdx.x % 32 * stride % (sizeof(POINTER) == 4 ? 1024 : 1 << 20); /* shared: 1024 elements */      \
    POINTER at0 = BEGIN + place * sizeof(TYPE), at1 = at0, at2 = at0, at3 = at0;                                      \
    TYPE v;                                                                                                           \
    for (int warm = 0; warm < 2; warm++) { LOAD(v, at0) at0 += SUM(v); }                                              \
    __syncthreads();                                                                                                  \
    long long start = ticks();                                                                                        \
    _Pragma("unroll 1") for (int i = 0; i < trips; i++) {                                                             \
      TYPE v0, v1, v2, v3;                                                                                            \
      X4(LOAD(v0, at0) LOAD(v1, at1) LOAD(v2, at2) LOAD(v3, at3) at0 += SUM(v0); at1 += SUM(v1); at2 += SUM(v2);      \
         at3 += SUM(v3);)                                                                                             \
    }                                                                                                                 \
    __syncthreads();                                                                                                  \
    long long end = ticks();                                                                                          \
    if (threadIdx.x == 0) clocks[blockIdx.x] = end - start;                                                           \
    out[blockIdx.x * blockDim.x + threadIdx.x] = (u32)(at0 + at1 + at2 + at3);                                        \
  }
#define SHARED_AT ((u32)__cvta_generic_to_shared(words))
#define GLOBAL_AT ((u64)in)
#define SUM1(v) (v)
#define SUM2(v) (v.x + v.y)
#define SUM4(v) (v.x + v.y + v.z + v.w)
#define LDS1(v, at) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(at));
#define LDS2(v, at) asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "r"(at));
#define LDS4(v, at) asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(at));
#define LDG1(v, at) asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(v) : "l"(at));
#define LDG2(v, at) asm volatile("ld.global.ca.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(at));
#define LDG4(v, at) asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(at));
LOADS(shared_load32, u32, u32, SHARED_AT, LDS1, SUM1)
LOADS(shared_load64, uint2, u32, SHARED_AT, LDS2, SUM2)
LOADS(shared_load128, uint4, u32, SHARED_AT, LDS4, SUM4)
LOADS(l1_load32, u32, u64, GLOBAL_AT, LDG1, SUM1)
LOADS(l1_load64, uint2, u64, GLOBAL_AT, LDG2, SUM2)
LOADS(l1_load128, uint4, u64, GLOBAL_AT, LDG4, SUM4)

// Stores and atomics on shared memory: each to the place after the last, `stride` words from lane to lane.
#define STORES(NAME, TYPE, OP)                                                                                        \
  extern "C" __global__ void NAME(long long* clocks, u32* out, int trips, int stride) {                               \
    __shared__ TYPE words[2048];                                                                                      \
    for (int i = threadIdx.x; i < 2048; i += blockDim.x) words[i] = TYPE();                                           \
    __syncthreads();                                                                                                  \
    u32 at = SHARED_AT + threadIdx.x % 32 * stride % 1024 * sizeof(TYPE);                                             \
    TYPE v = TYPE();                                                                                                  \
    long long start = ticks();                                                                                        \
    _Pragma("unroll 1") for (int i = 0; i < trips; i++) { X16(OP at ^= 4096;) }                                       \
    __syncthreads();                                                                                                  \
    long long end = ticks();                                                                                          \
    if (threadIdx.x == 0) clocks[blockIdx.x] = end - start;                                                           \
    out[blockIdx.x * blockDim.x + threadIdx.x] = at;                                                                  \
  }
STORES(shared_store32, u32, asm volatile("st.shared.u32 [%1], %0;" ::"r"(v), "r"(at));)
STORES(shared_store128, uint4, asm volatile("st.shared.v4.u32 [%4], {%0, %1, %2, %3};" ::"r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "r"(at));)
STORES(shared_add, u32, asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(at), "r"(trips));)
STORES(shared_addfloat, float, asm volatile("red.shared.add.f32 [%0], %1;" ::"r"(at), "f"(1.0f));)

extern "C" __global__ void barrier(long long* clocks, u32* out, int trips) {
  __syncthreads();
  long long start = ticks();
#pragma unroll 1
  for (int i = 0; i < trips; i++) { X16(asm volatile("bar.sync 0;" ::: "memory");) }
  long long end = ticks();
  if (threadIdx.x == 0) clocks[blockIdx.x] = end - start;
  out[blockIdx.x * blockDim.x + threadIdx.x] = trips;
}

// Streams over n elements, as often as `trips` says; the whole grid side by side.
extern "C" __global__ void stream_read(uint4* out, const uint4* in, u64 n, int trips) {
  uint4 sum = make_uint4(0, 0, 0, 0);
  u64 step = (u64)gridDim.x * blockDim.x * 4;
  for (int trip = 0; trip < trips; trip++)
    for (u64 i = (u64)blockIdx.x * blockDim.x * 4 + threadIdx.x; i < n; i += step) {
      uint4 v[4];
#pragma unroll
      for (int k = 0; k < 4; k++)
        asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v[k].x), "=r"(v[k].y), "=r"(v[k].z), "=r"(v[k].w) : "l"(in + i + k * blockDim.x));
#pragma unroll
      for (int k = 0; k < 4; k++) { sum.x ^= v[k].x; sum.y ^= v[k].y; sum.z ^= v[k].z; sum.w ^= v[k].w; }
    }
  if (sum.x == 0x12345678 && sum.y == 77) out[0] = sum;
}
extern "C" __global__ void stream_read32(u32* out, const u32* in, u64 n, int trips) {
  u32 sum = 0;
  u64 step = (u64)gridDim.x * blockDim.x * 4;
  for (int trip = 0; trip < trips; trip++)
    for (u64 i = (u64)blockIdx.x * blockDim.x * 4 + threadIdx.x; i < n; i += step) {
      u32 v[4];
#pragma unroll
      for (int k = 0; k < 4; k++) asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v[k]) : "l"(in + i + k * blockDim.x));
#pragma unroll
      for (int k = 0; k < 4; k++) sum ^= v[k];
    }
  if (sum == 0x12345678) out[0] = sum;
}
extern "C" __global__ void stream_write(uint4* out, u64 n, int trips) {
  u64 step = (u64)gridDim.x * blockDim.x;
  for (int trip = 0; trip < trips; trip++)
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) out[i] = make_uint4(trip, trip, trip, trip);
}
extern "C" __global__ void stream_copy(uint4* out, const uint4* in, u64 n, int trips) {
  u64 step = (u64)gridDim.x * blockDim.x * 4;
  for (int trip = 0; trip < trips; trip++)
    for (u64 i = (u64)blockIdx.x * blockDim.x * 4 + threadIdx.x; i < n; i += step) {
      uint4 v[4];
#pragma unroll
      for (int k = 0; k < 4; k++) v[k] = in[i + k * blockDim.x];
#pragma unroll
      for (int k = 0; k < 4; k++) out[i + k * blockDim.x] = v[k];
    }
}
// Each thread stores one word; lanes `stride` words apart, so that 32 / (sectors shared) sectors are written in part.
extern "C" __global__ void scatter_write(u32* out, u64 n, int stride, int trips) {
  u64 threads = (u64)gridDim.x * blockDim.x, thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  for (int trip = 0; trip < trips; trip++) out[(thread * stride + trip * threads * stride) % n] = trip;
}
extern "C" __global__ void scatter_read(u32* out, const u32* in, u64 n, int stride, int trips) {
  u64 threads = (u64)gridDim.x * blockDim.x, thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  u32 sum = 0;
  for (int trip = 0; trip < trips; trip += 4) {
    u32 v[4];
#pragma unroll
    for (int k = 0; k < 4; k++) asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v[k]) : "l"(in + (thread * stride + (trip + k) * threads * stride) % n));
#pragma unroll
    for (int k = 0; k < 4; k++) sum += v[k];
  }
  if (sum == 0x12345678) out[0] = sum;
}

// Atomics: `distinct` addresses, `step` words apart, picked by a hash of the thread and trip (spread), or all lanes of
// a warp on one (not spread).
extern "C" __global__ void atomic_add(u32* out, int trips, u32 distinct, u32 step, int spread) {
  u32 seed = (blockIdx.x * blockDim.x + threadIdx.x) / (spread ? 1 : 32) * 2654435761u;
  for (int i = 0; i < trips; i++) {
    seed = seed * 1664525u + 1013904223u;
    asm volatile("red.global.add.u32 [%0], %1;" ::"l"(out + (seed >> 8) % distinct * step), "r"(1));
  }
}
extern "C" __global__ void atomic_addfloat(float* out, int trips, u32 distinct, u32 step, int spread) {
  u32 seed = (blockIdx.x * blockDim.x + threadIdx.x) / (spread ? 1 : 32) * 2654435761u;
  for (int i = 0; i < trips; i++) {
    seed = seed * 1664525u + 1013904223u;
    asm volatile("red.global.add.f32 [%0], %1;" ::"l"(out + (seed >> 8) % distinct * step), "f"(1.0f));
  }
}
extern "C" __global__ void latency_atomic(long long* clocks, u32* out, int trips) {
  u32 v = 0;
  long long start = ticks();
#pragma unroll 1
  for (int i = 0; i < trips; i++) asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(v) : "l"(out + (v & 1)), "r"(2));
  long long end = ticks();
  clocks[blockIdx.x] = end - start;
}
extern "C" __global__ void latency_atomic_shared(long long* clocks, u32* out, int trips) {
  __shared__ u32 word[2];
  word[0] = word[1] = 0;
  u32 at = (u32)__cvta_generic_to_shared(word), v = 0;
  long long start = ticks();
#pragma unroll 1
  for (int i = 0; i < trips; i++) asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(v) : "r"(at + (v & 4)), "r"(8));
  long long end = ticks();
  clocks[blockIdx.x] = end - start;
  out[0] = v;
}

extern "C" __global__ void empty() {}
extern "C" __global__ void empty_shared() { extern __shared__ u32 words[]; }
// Blocks that stay for `stay` cycles and up to `apart` more, as a hash of their number says: the SM of each and its clock
// when its first thread began. What is stored has long left when a block ends. All warps stay until its end: where some
// leave sooner, further blocks come into their places.
extern "C" __global__ void stays(long long* begun, u32* sm, long long stay, u32 apart) {
  if (threadIdx.x == 0) {
    long long start = ticks(), mine = stay + (blockIdx.x * 2654435761u >> 8) % apart;
    u32 id;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    begun[blockIdx.x] = start;
    sm[blockIdx.x] = id;
    while (ticks() - start < mine) {}
  }
  __syncthreads();
}
// The SM's clock: cycles and nanoseconds of a long stay.
extern "C" __global__ void clock_rate(long long* clocks, u64* nanoseconds, long long stay) {
  u64 from, to;
  long long start = ticks(), now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(from));
  do now = ticks(); while (now - start < stay);
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(to));
  clocks[blockIdx.x] = now - start;
  nanoseconds[blockIdx.x] = to - from;
}
