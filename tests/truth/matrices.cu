// Matrix instructions on shared memory: what ldmatrix, stmatrix and wmma cost, one warp a launch, and a GEMM of them.
#include "common.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
#define ROW(i) ((unsigned)__cvta_generic_to_shared(s) + 16 * (t / div * mul % mod))
template <int N> __global__ void ldmatrix(unsigned* o, int mul, int div, int mod) {
  __shared__ uint4 s[512]; int t = threadIdx.x; for (int i = t; i < 512; i += 32) s[i] = ((uint4*)o)[i]; __syncthreads();
  unsigned r[4] = {}, a = ROW(t);
  if (N == 1) asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(a));
  if (N == 2) asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(a));
  if (N == 4) asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(a));
  if (N == 8) asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(a));
  o[t] = r[0] + r[1] + r[2] + r[3];
}
template <int N> __global__ void stmatrix(unsigned* o, int mul, int div, int mod) {
  __shared__ uint4 s[512]; int t = threadIdx.x; for (int i = t; i < 512; i += 32) s[i] = ((uint4*)o)[i]; __syncthreads();
  unsigned a = ROW(t);
  if (N == 1) asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(a), "r"(t));
  if (N == 2) asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(a), "r"(t), "r"(t + 1));
  if (N == 4) asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(a), "r"(t), "r"(t + 1), "r"(t + 2), "r"(t + 3));
  if (N == 8) asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(a), "r"(t), "r"(t + 1), "r"(t + 2), "r"(t + 3));
  __syncthreads(); o[t] = s[t].x + s[t + 128].y;
}
template <class T, class L, int SHARED> __global__ void wmma_loads(T* in, float* o, int pitch) {
  __shared__ T s[64 * 64]; int t = threadIdx.x; for (int i = t; i < 64 * 64; i += 32) s[i] = in[i]; __syncthreads();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, T, L> a; wmma::fragment<wmma::matrix_b, 16, 16, 16, T, L> b; wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(c, 0.f); wmma::load_matrix_sync(a, SHARED ? s : in, pitch); wmma::load_matrix_sync(b, (SHARED ? s : in) + 16, pitch);
  wmma::mma_sync(c, a, b, c); wmma::store_matrix_sync(SHARED ? (float*)s : o, c, 32, wmma::mem_row_major); __syncthreads(); o[t] = ((float*)s)[t];
}
__global__ void wmma_gemm(const __half* a, const __half* b, float* c, int n) {
  __shared__ __half sa[64 * 24], sb[64 * 24]; int w = threadIdx.x / 32, row = blockIdx.y * 64, col = blockIdx.x * 64;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2]; for (auto& f : sum) wmma::fill_fragment(f, 0.f);
  for (int k = 0; k < n; k += 16) {
    for (int i = threadIdx.x; i < 64 * 8; i += 256) { int r = i / 8, x = i % 8 * 2; *(__half2*)&sa[r * 24 + x] = *(__half2*)&a[(row + r) * n + k + x]; *(__half2*)&sb[r * 24 + x] = *(__half2*)&b[(col + r) * n + k + x]; }
    __syncthreads();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa; wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
    wmma::load_matrix_sync(fa, sa + w / 2 * 16 * 24, 24);
    for (int j = 0; j < 2; j++) { wmma::load_matrix_sync(fb, sb + (w % 2 * 2 + j) * 16 * 24, 24); wmma::mma_sync(sum[j], fa, fb, sum[j]); }
    __syncthreads();
  }
  for (int j = 0; j < 2; j++) wmma::store_matrix_sync(c + (row + w / 2 * 16) * n + col + (w % 2 * 2 + j) * 16, sum[j], n, wmma::mem_row_major);
}
constexpr int TILE = 128, DEPTH = 32, WARP_M = 64, WARP_N = 32, THREADS = 256;
template <int SWIZZLED> __device__ unsigned place(int row, int piece) { return row * DEPTH * 2 + (SWIZZLED ? piece ^ (row >> 1 & 3) : piece) * 16; }
template <int SWIZZLED> __device__ void load_tile(char* tile, const __nv_bfloat16* from, int pitch) {
  for (int i = threadIdx.x; i < TILE * DEPTH / 8; i += THREADS) { int row = i / (DEPTH / 8), piece = i % (DEPTH / 8); *(uint4*)(tile + place<SWIZZLED>(row, piece)) = *(const uint4*)(from + row * pitch + piece * 8); }
}
__device__ void load_four(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(address));
}
template <int SWIZZLED> __global__ void __launch_bounds__(THREADS) mma_gemm(float* c, const __nv_bfloat16* a, const __nv_bfloat16* b, int n) {
  __shared__ __align__(128) char tile_a[TILE * DEPTH * 2], tile_b[TILE * DEPTH * 2];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = warp / 4 * WARP_M, column = warp % 4 * WARP_N;
  unsigned at_a = __cvta_generic_to_shared(tile_a), at_b = __cvta_generic_to_shared(tile_b);
  a += blockIdx.y * TILE * n; b += blockIdx.x * TILE * n;
  float sum[WARP_M / 16][WARP_N / 8][4] = {};
  for (int depth = 0; depth < n; depth += DEPTH) {
    load_tile<SWIZZLED>(tile_a, a + depth, n); load_tile<SWIZZLED>(tile_b, b + depth, n);
    __syncthreads();
    for (int step = 0; step < DEPTH / 16; step++) {
      unsigned fa[WARP_M / 16][4], fb[WARP_N / 16][4];
      for (int i = 0; i < WARP_M / 16; i++) load_four(fa[i], at_a + place<SWIZZLED>(row + 16 * i + lane % 16, 2 * step + lane / 16));
      for (int j = 0; j < WARP_N / 16; j++) load_four(fb[j], at_b + place<SWIZZLED>(column + 16 * j + lane / 16 * 8 + lane % 8, 2 * step + lane / 8 % 2));
      for (int i = 0; i < WARP_M / 16; i++) for (int j = 0; j < WARP_N / 8; j++)
          asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                       : "+f"(sum[i][j][0]), "+f"(sum[i][j][1]), "+f"(sum[i][j][2]), "+f"(sum[i][j][3]) : "r"(fa[i][0]), "r"(fa[i][1]), "r"(fa[i][2]), "r"(fa[i][3]), "r"(fb[j / 2][j % 2 * 2]), "r"(fb[j / 2][j % 2 * 2 + 1]));
    }
    __syncthreads();
  }
  for (int i = 0; i < WARP_M / 16; i++) for (int j = 0; j < WARP_N / 8; j++) for (int half = 0; half < 2; half++) {
        int r = blockIdx.y * TILE + row + 16 * i + lane / 4 + 8 * half, x = blockIdx.x * TILE + column + 8 * j + lane % 4 * 2;
        *(float2*)(c + r * n + x) = make_float2(sum[i][j][2 * half], sum[i][j][2 * half + 1]); }
}
static std::string nm(std::string s) { s.erase(std::remove(s.begin(), s.end(), ' '), s.end()); return s; }
#define M(K, N, ...) cases.push_back({nm(#K "<" #N ">:" #__VA_ARGS__), [=] { K<N><<<1, 32>>>((unsigned*)p, __VA_ARGS__); }})
#define P(K, N) M(K, N, 1, 1, 512); M(K, N, 8, 1, 512); M(K, N, 4, 1, 512); M(K, N, 2, 1, 512); M(K, N, 9, 1, 512); M(K, N, 3, 1, 512); M(K, N, 1, 2, 512); M(K, N, 8, 2, 512); M(K, N, 8, 4, 512); M(K, N, 5, 2, 512); M(K, N, 0, 1, 512); M(K, N, 1, 1, 4); M(K, N, 8, 1, 32); M(K, N, 1, 8, 512); M(K, N, 16, 8, 512); M(K, N, 7, 3, 64)
#define W(T, L, S, PITCH) cases.push_back({nm("wmma_loads<" #T "," #L "," #S ">:" #PITCH), [=] { wmma_loads<T, wmma::L, S><<<1, 32>>>((T*)p, q, PITCH); }})
int main(int argc, char** argv) {
  float *p = dalloc<float>(1 << 18), *q = dalloc<float>(1 << 18);
  P(ldmatrix, 1); P(ldmatrix, 2); P(ldmatrix, 4); P(ldmatrix, 8); P(stmatrix, 1); P(stmatrix, 2); P(stmatrix, 4); P(stmatrix, 8);
  W(__half, row_major, 1, 16); W(__half, row_major, 1, 24); W(__half, row_major, 1, 64); W(__half, col_major, 1, 24); W(__half, col_major, 1, 64); W(__half, row_major, 0, 16); W(__half, col_major, 0, 24); W(__half, row_major, 0, 64);
  W(__nv_bfloat16, row_major, 1, 32); W(__nv_bfloat16, col_major, 0, 32);
  cases.push_back({"wmma_gemm", [=] { wmma_gemm<<<dim3(2, 2), 256>>>((__half*)p, (__half*)p, q, 128); }});
  cases.push_back({"mma_gemm_swizzled", [=] { mma_gemm<1><<<dim3(2, 2), 256>>>(q, (__nv_bfloat16*)p, (__nv_bfloat16*)p, 256); }});
  cases.push_back({"mma_gemm_conflicts", [=] { mma_gemm<0><<<dim3(2, 2), 256>>>(q, (__nv_bfloat16*)p, (__nv_bfloat16*)p, 256); }});
  return run_all(argc, argv);
}
