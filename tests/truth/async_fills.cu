// Asynchronous copies past the first-level cache that fill with zeros, by the size of the source or by a predicate.
#include "common.h"
typedef unsigned int u32;
__device__ u32 at(const void* p) { return (u32)__cvta_generic_to_shared(p); }
struct Where { int gmul, gdiv, goff, smul, sdiv; u32 mask; };
__global__ void fill16cg(const char* in, int* out, Where w, u32 sizes) {
  __shared__ __align__(128) char s[512 * 16];
  int t = threadIdx.x;
  u32 to = at(s) + t / w.sdiv * w.smul % 512 * 16, size = (sizes >> t % 8 * 4 & 15) * 2;
  const char* from = in + (long long)(t / w.gdiv * w.gmul + w.goff) * 16;
  if (w.mask >> t & 1)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(size) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncwarp();
  out[t] = *(const int*)(s + t * 16);
}
__global__ void ignore16cg(const char* in, int* out, Where w, u32 ignored) {
  __shared__ __align__(128) char s[512 * 16];
  int t = threadIdx.x;
  u32 to = at(s) + t / w.sdiv * w.smul % 512 * 16;
  const char* from = in + (long long)(t / w.gdiv * w.gmul + w.goff) * 16;
  if (w.mask >> t & 1)
    asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; cp.async.cg.shared.global [%0], [%1], 16, p;}" ::"r"(to), "l"(from), "r"(ignored >> t & 1) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncwarp();
  out[t] = *(const int*)(s + t * 16);
}
int main(int argc, char** argv) {
  char* in = dalloc<char>(1 << 20); int* out = dalloc<int>(1 << 16);
  auto add = [&](const char* name, void (*k)(const char*, int*, Where, u32), Where w, u32 x) {
    char text[200]; snprintf(text, sizeof text, "%s:%d,%d,%d,%d,%d,%08x;%08x", name, w.gmul, w.gdiv, w.goff, w.smul, w.sdiv, w.mask, x);
    cases.push_back({text, [=] { k<<<1, 32>>>(in, out, w, x); }});
  };
  for (u32 x : {0u, 0x88888888u, 0x00008888u, 0x80808080u, 0x12345678u, 0x00000008u, 0x44440000u})
    for (Where w : {Where{1, 1, 0, 1, 1, ~0u}, Where{1, 1, 1, 1, 1, ~0u}, Where{4, 1, 1, 8, 1, 0xfffff0ffu}, Where{1, 1, 0, 1, 2, ~0u}}) add("fill16cg", fill16cg, w, x);
  for (u32 x : {0u, 0x88888888u, 0x00008888u, 0xaaaaaaaau, 0xffffffffu, 0xfffffff0u, 0x12345678u})
    for (Where w : {Where{1, 1, 0, 1, 1, ~0u}, Where{1, 1, 1, 1, 1, ~0u}, Where{4, 1, 1, 8, 1, 0xfffff0ffu}, Where{1, 1, 0, 1, 2, ~0u}}) add("ignore16cg", ignore16cg, w, x);
  return run_all(argc, argv);
}
