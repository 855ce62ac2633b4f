// Bulk copies and mbarriers, a block a case.
#include "common.h"
typedef unsigned int u32; typedef unsigned long long u64;
__device__ u32 at(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ void wait(u64* b, u32 parity) {
  asm volatile("{.reg .pred p;\n W: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n @!p bra W;}" ::"r"(at(b)), "r"(parity) : "memory");
}
__global__ void load(const char* in, int* out, int bytes, int pieces, int gap) {
  extern __shared__ __align__(128) char s[];
  __shared__ u64 b;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at(&b)));
    asm volatile("fence.mbarrier_init.release.cluster;");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at(&b)), "r"(bytes * pieces) : "memory");
    for (int i = 0; i < pieces; i++)
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at(s) + i * bytes), "l"(in + i * gap), "r"(bytes), "r"(at(&b)) : "memory");
  }
  __syncthreads();
  wait(&b, 0);
  int sum = 0;
  for (int i = threadIdx.x; i < bytes * pieces / 4; i += blockDim.x) sum += ((int*)s)[i];
  out[threadIdx.x] = sum;
}
__global__ void store(char* out, int bytes, int pieces, int gap) {
  extern __shared__ __align__(128) char s[];
  for (int i = threadIdx.x; i < bytes * pieces / 4; i += blockDim.x) ((int*)s)[i] = i;
  asm volatile("fence.proxy.async.shared::cta;");
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < pieces; i++)
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out + i * gap), "r"(at(s) + i * bytes), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
#define REDUCE(name, op) \
__global__ void reduce_##name(char* out, int bytes, int pieces, int gap) { \
  extern __shared__ __align__(128) char s[]; \
  for (int i = threadIdx.x; i < bytes * pieces / 4; i += blockDim.x) ((int*)s)[i] = i; \
  asm volatile("fence.proxy.async.shared::cta;"); \
  __syncthreads(); \
  if (threadIdx.x == 0) { \
    for (int i = 0; i < pieces; i++) \
      asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." op " [%0], [%1], %2;" ::"l"(out + i * gap), "r"(at(s) + i * bytes), "r"(bytes) : "memory"); \
    asm volatile("cp.async.bulk.commit_group;"); \
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); \
  } \
}
REDUCE(add_u32, "add.u32") REDUCE(add_f32, "add.f32") REDUCE(max_s64, "max.s64") REDUCE(add_f16, "add.noftz.f16") REDUCE(inc, "inc.u32")
__global__ void phases(int* out) {  // arrivals of all threads, waits of all
  __shared__ u64 b;
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at(&b)), "r"(blockDim.x));
  __syncthreads();
  for (int i = 0; i < 4; i++) {
    asm volatile("{.reg .b64 s; mbarrier.arrive.shared.b64 s, [%0];}" ::"r"(at(&b)) : "memory");
    wait(&b, i & 1);
  }
  out[threadIdx.x] = threadIdx.x;
}
int main(int argc, char** argv) {
  char* in = dalloc<char>(1 << 22);
  int* out = dalloc<int>(1 << 16);
  for (auto [bytes, pieces, gap] : {std::tuple{16, 1, 0}, {128, 1, 0}, {4096, 1, 0}, {16384, 2, 16384}, {48, 8, 64}, {48, 8, 4096 + 16}, {1008, 3, 1040}, {32, 16, 32}}) {
    std::string label = ":" + std::to_string(bytes) + "," + std::to_string(pieces) + "," + std::to_string(gap);
    int b = bytes, n = pieces, g = gap;
    cases.push_back({"load" + label, [=] { load<<<1, 64, b * n>>>(in, out, b, n, g); }});
    cases.push_back({"load16" + label, [=] { load<<<1, 64, b * n>>>(in + 16, out, b, n, g); }});
    cases.push_back({"store" + label, [=] { store<<<1, 64, b * n>>>(in, b, n, g); }});
    cases.push_back({"store16" + label, [=] { store<<<1, 64, b * n>>>(in + 16, b, n, g); }});
    cases.push_back({"add_u32" + label, [=] { reduce_add_u32<<<1, 64, b * n>>>(in, b, n, g); }});
    cases.push_back({"add_f32" + label, [=] { reduce_add_f32<<<1, 64, b * n>>>(in, b, n, g); }});
  }
  cases.push_back({"max_s64", [=] { reduce_max_s64<<<1, 64, 512>>>(in, 512, 1, 0); }});
  cases.push_back({"add_f16", [=] { reduce_add_f16<<<1, 64, 512>>>(in, 512, 1, 0); }});
  cases.push_back({"inc", [=] { reduce_inc<<<1, 64, 512>>>(in, 512, 1, 0); }});
  cases.push_back({"phases", [=] { phases<<<1, 96>>>(out); }});
  return run_all(argc, argv);
}
