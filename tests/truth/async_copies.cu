// Asynchronous copies to shared memory, one warp a case: each size and cache operator, under masks, with conflicts in
// shared memory, over misaligned sectors, with parts filled with zeros.
#include "common.h"

typedef unsigned int u32;
__device__ u32 at(const void* p) { return (u32)__cvta_generic_to_shared(p); }

// Lane t copies element t / gdiv * gmul + goff of `in` to element t / sdiv * smul % 512 of shared memory.
struct Where { int gmul, gdiv, goff, smul, sdiv; u32 mask; };

template <int N, bool CG = false> __global__ void copy(const char* in, int* out, Where w) {
  __shared__ __align__(128) char s[512 * N];
  int t = threadIdx.x;
  u32 to = at(s) + t / w.sdiv * w.smul % 512 * N;
  const char* from = in + (long long)(t / w.gdiv * w.gmul + w.goff) * N;
  if (w.mask >> t & 1) {
    if (CG) asm volatile("cp.async.cg.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(N) : "memory");
    else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(N) : "memory");
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncwarp();
  out[t] = *(const int*)(s + t * N);
}
// A part of each element comes from global memory, `sizes` says how many bytes in 4 bits a lane (of the first 8 lanes,
// then again); the rest is zero.
template <int N> __global__ void fill(const char* in, int* out, Where w, u32 sizes) {
  __shared__ __align__(128) char s[512 * N];
  int t = threadIdx.x;
  u32 to = at(s) + t / w.sdiv * w.smul % 512 * N, size = (sizes >> t % 8 * 4 & 15) * (N / 4) / 2;
  const char* from = in + (long long)(t / w.gdiv * w.gmul + w.goff) * N;
  if (w.mask >> t & 1)
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(N), "r"(size) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncwarp();
  out[t] = *(const int*)(s + t * N);
}
template <int N> __global__ void ignore(const char* in, int* out, Where w, u32 ignored) {
  __shared__ __align__(128) char s[512 * N];
  int t = threadIdx.x;
  u32 to = at(s) + t / w.sdiv * w.smul % 512 * N;
  const char* from = in + (long long)(t / w.gdiv * w.gmul + w.goff) * N;
  if (w.mask >> t & 1)
    asm volatile("{.reg .pred p; setp.ne.u32 p, %3, 0; cp.async.ca.shared.global [%0], [%1], %2, p;}" ::"r"(to),
                 "l"(from), "n"(N), "r"(ignored >> t & 1) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncwarp();
  out[t] = *(const int*)(s + t * N);
}
// A tile by several warps, two stages: how copies are in real kernels.
__global__ void stages(const float4* in, float* out, int pitch, int steps) {
  __shared__ float4 s[2][16][17];
  int x = threadIdx.x % 16, y = threadIdx.x / 16;
  float sum = 0;
  auto fetch = [&](int k) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at(&s[k % 2][y][x])), "l"(in + y * pitch + k * 16 + x) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  fetch(0);
  for (int k = 0; k < steps; k++) {
    if (k + 1 < steps) { fetch(k + 1); asm volatile("cp.async.wait_group 1;" ::: "memory"); }
    else asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    float4 v = s[k % 2][x][y];
    sum += v.x + v.y + v.z + v.w;
    __syncthreads();
  }
  out[blockIdx.x * 256 + threadIdx.x] = sum;
}

static std::string label(std::string name, Where w) {
  char text[200];
  snprintf(text, sizeof text, "%s:%d,%d,%d,%d,%d,%08x", name.c_str(), w.gmul, w.gdiv, w.goff, w.smul, w.sdiv, w.mask);
  return text;
}
static const u32 kMasks[] = {0xaaaaaaaau, 1u, 0x80000000u, 0xffffu, 0xffff0000u, 0x00f0f00fu, 0x91248123u, 0u};

int main(int argc, char** argv) {
  char* in = dalloc<char>(1 << 20);
  int* out = dalloc<int>(1 << 16);
  auto add = [&](std::string name, void (*kernel)(const char*, int*, Where), Where w) {
    cases.push_back({label(name, w), [=] { kernel<<<1, 32>>>(in, out, w); }});
  };
  struct Kind { const char* name; void (*kernel)(const char*, int*, Where); };
  for (Kind k : {Kind{"copy4", copy<4>}, Kind{"copy8", copy<8>}, Kind{"copy16", copy<16>}, Kind{"copy16cg", copy<16, true>}}) {
    for (Where w : {Where{1, 1, 0, 1, 1, ~0u}, Where{1, 1, 1, 1, 1, ~0u}, Where{2, 1, 0, 1, 1, ~0u}, Where{9, 1, 3, 1, 1, ~0u},
                    Where{1, 4, 0, 1, 1, ~0u}, Where{0, 1, 5, 1, 1, ~0u}, Where{1, 1, 0, 2, 1, ~0u}, Where{1, 1, 0, 4, 1, ~0u},
                    Where{1, 1, 0, 8, 1, ~0u}, Where{1, 1, 0, 16, 1, ~0u}, Where{1, 1, 0, 17, 1, ~0u}, Where{1, 1, 0, 1, 2, ~0u},
                    Where{1, 1, 0, 1, 4, ~0u}, Where{1, 1, 0, 0, 1, ~0u}, Where{3, 2, 1, 8, 4, ~0u}, Where{1, 1, 0, 3, 1, ~0u}})
      add(k.name, k.kernel, w);
    for (u32 mask : kMasks) {
      add(k.name, k.kernel, Where{1, 1, 1, 1, 1, mask});
      add(k.name, k.kernel, Where{1, 1, 0, 8, 1, mask});
      add(k.name, k.kernel, Where{5, 2, 1, 3, 1, mask});
    }
  }
  auto add_fill = [&](std::string name, void (*kernel)(const char*, int*, Where, u32), Where w, u32 sizes) {
    char text[20];
    snprintf(text, sizeof text, ";%08x", sizes);
    cases.push_back({label(name, w) + text, [=] { kernel<<<1, 32>>>(in, out, w, sizes); }});
  };
  struct Fill { const char* name; void (*kernel)(const char*, int*, Where, u32); };
  for (Fill k : {Fill{"fill4", fill<4>}, Fill{"fill8", fill<8>}, Fill{"fill16", fill<16>}, Fill{"ignore4", ignore<4>},
                 Fill{"ignore8", ignore<8>}, Fill{"ignore16", ignore<16>}})
    for (u32 sizes : {0u, 0x88888888u, 0x00008888u, 0x80808080u, 0x12345678u, 0xfffffff0u, 0x00000008u, 0xffffffffu}) {
      if (k.name[0] == 'f' && (sizes & 0xf) == 0xf) continue;  // at most the size of the element
      if (k.name[0] == 'f' && sizes == 0xfffffff0u) continue;
      add_fill(k.name, k.kernel, Where{1, 1, 0, 1, 1, ~0u}, sizes);
      add_fill(k.name, k.kernel, Where{4, 1, 1, 8, 1, 0xfffff0ffu}, sizes);
    }
  for (int pitch : {64, 68, 81})
    cases.push_back({"stages:" + std::to_string(pitch), [=] { stages<<<4, 256>>>((const float4*)in, (float*)out, pitch, 4); }});
  return run_all(argc, argv);
}
