// Bulk reductions of every operation and type: random words, then numbers with a meaning of their own. Prints the results.
#include <cstdio>
#include <cstdlib>
#include <vector>
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__global__ void reductions(char* o, const int* in) {
  __shared__ __align__(128) char s[1728];
  for (int i = 0; i < 432; i++) ((int*)s)[i] = in[i];
  asm volatile("fence.proxy.async.shared::cta;");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.and.b32 [%0], [%1], 64;" ::"l"(o + 0), "r"(at(s + 0)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.and.b64 [%0], [%1], 64;" ::"l"(o + 64), "r"(at(s + 64)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.or.b32 [%0], [%1], 64;" ::"l"(o + 128), "r"(at(s + 128)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.or.b64 [%0], [%1], 64;" ::"l"(o + 192), "r"(at(s + 192)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.xor.b32 [%0], [%1], 64;" ::"l"(o + 256), "r"(at(s + 256)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.xor.b64 [%0], [%1], 64;" ::"l"(o + 320), "r"(at(s + 320)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 64;" ::"l"(o + 384), "r"(at(s + 384)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], 64;" ::"l"(o + 448), "r"(at(s + 448)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [%0], [%1], 64;" ::"l"(o + 512), "r"(at(s + 512)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 64;" ::"l"(o + 576), "r"(at(s + 576)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f64 [%0], [%1], 64;" ::"l"(o + 640), "r"(at(s + 640)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%0], [%1], 64;" ::"l"(o + 704), "r"(at(s + 704)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%0], [%1], 64;" ::"l"(o + 768), "r"(at(s + 768)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.inc.u32 [%0], [%1], 64;" ::"l"(o + 832), "r"(at(s + 832)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.dec.u32 [%0], [%1], 64;" ::"l"(o + 896), "r"(at(s + 896)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.u32 [%0], [%1], 64;" ::"l"(o + 960), "r"(at(s + 960)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.s32 [%0], [%1], 64;" ::"l"(o + 1024), "r"(at(s + 1024)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.u64 [%0], [%1], 64;" ::"l"(o + 1088), "r"(at(s + 1088)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.s64 [%0], [%1], 64;" ::"l"(o + 1152), "r"(at(s + 1152)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.f16 [%0], [%1], 64;" ::"l"(o + 1216), "r"(at(s + 1216)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.bf16 [%0], [%1], 64;" ::"l"(o + 1280), "r"(at(s + 1280)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u32 [%0], [%1], 64;" ::"l"(o + 1344), "r"(at(s + 1344)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32 [%0], [%1], 64;" ::"l"(o + 1408), "r"(at(s + 1408)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u64 [%0], [%1], 64;" ::"l"(o + 1472), "r"(at(s + 1472)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s64 [%0], [%1], 64;" ::"l"(o + 1536), "r"(at(s + 1536)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.f16 [%0], [%1], 64;" ::"l"(o + 1600), "r"(at(s + 1600)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.bf16 [%0], [%1], 64;" ::"l"(o + 1664), "r"(at(s + 1664)) : "memory");
  asm volatile("cp.async.bulk.commit_group;");
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
static unsigned seed = 1;
static unsigned rnd() { seed = seed * 1664525u + 1013904223u; return seed >> 8 ^ seed << 20; }
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { printf("%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
int main() {
  // reductions: random words, then numbers with a meaning of their own
  const char* kinds[] = {"and.b32","and.b64","or.b32","or.b64","xor.b32","xor.b64","add.u32","add.s32","add.u64","add.f32","add.f64","add.f16","add.bf16","inc.u32","dec.u32","min.u32","min.s32","min.u64","min.s64","min.f16","min.bf16","max.u32","max.s32","max.u64","max.s64","max.f16","max.bf16"};
  static const unsigned special[] = {0x7fc00000, 0x7f800000, 0xff800000, 0x80000000, 0, 1, 0x00000001, 0x80000001, 0x007fffff, 0x7f7fffff, 0x7e007c00, 0xfc008000, 0x00010001, 0x7fff7fff, 0x03ff83ff, 0xffffffff};
  for (int round = 0; round < 3; round++) {
    std::vector<int> a(432), d(432);
    for (int i = 0; i < 432; i++) { a[i] = round == 1 ? special[rnd() % 16] : rnd(); d[i] = round >= 1 ? special[rnd() % 16] : rnd(); }
    char *o; int* p; CK(cudaMalloc(&o, 1728)); CK(cudaMalloc(&p, 1728));
    CK(cudaMemcpy(o, a.data(), 1728, cudaMemcpyHostToDevice)); CK(cudaMemcpy(p, d.data(), 1728, cudaMemcpyHostToDevice));
    reductions<<<1, 1>>>(o, p); CK(cudaDeviceSynchronize());
    std::vector<unsigned> r(432); CK(cudaMemcpy(r.data(), o, 1728, cudaMemcpyDeviceToHost));
    for (int k = 0; k < 27; k++) { printf("reduce %d %s", round, kinds[k]); for (int i = 0; i < 16; i++) printf(" %08x", r[16 * k + i]); printf("\n"); }
  }
}
