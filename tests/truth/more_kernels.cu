// Kernels of many kinds to judge the model of caches and time by, beside effects.cu.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#define CHECK(x)                                                                            \
  do {                                                                                      \
    cudaError_t status = (x);                                                               \
    if (status != cudaSuccess) {                                                            \
      fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(status));        \
      exit(1);                                                                              \
    }                                                                                       \
  } while (0)

// --- streams ---------------------------------------------------------------------------------
template <int IN_FLIGHT> __global__ void sum_columns(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v[IN_FLIGHT], sum = 0;
#pragma unroll
  for (int k = 0; k < IN_FLIGHT; k++) v[k] = in[i + k * n];
#pragma unroll
  for (int k = 0; k < IN_FLIGHT; k++) sum += v[k];
  out[i] = sum;
}
__global__ void saxpy_stride(const float* x, float* y, float a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] += a * x[i];
}
template <class T> __global__ void copy(const T* in, T* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}
__global__ void fill(float4* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = make_float4(1, 2, 3, 4);
}
__global__ void stride_three(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[3 * i] + in[3 * i + 1] + in[3 * i + 2];
}
__global__ void gather(const int* index, const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[index[i]];
}
__global__ void scatter(const int* index, const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[index[i]] = in[i];
}
// --- stencils --------------------------------------------------------------------------------
__global__ void stencil_line(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 3 || i >= n - 3) return;
  float s = 0;
#pragma unroll
  for (int k = -3; k <= 3; k++) s += in[i + k] * (0.1f + k);
  out[i] = s;
}
__global__ void stencil_plane(const float* in, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
  out[y * w + x] = 0.2f * (in[y * w + x] + in[y * w + x - 1] + in[y * w + x + 1] + in[(y - 1) * w + x] + in[(y + 1) * w + x]);
}
__global__ void convolution_tile(const float* in, float* out, int w, int h) {
  __shared__ float tile[18][34];
  int x0 = blockIdx.x * 32, y0 = blockIdx.y * 16;
  for (int i = threadIdx.y * 32 + threadIdx.x; i < 18 * 34; i += 512) {
    int x = min(max(x0 + i % 34 - 1, 0), w - 1), y = min(max(y0 + i / 34 - 1, 0), h - 1);
    tile[i / 34][i % 34] = in[y * w + x];
  }
  __syncthreads();
  float s = 0;
#pragma unroll
  for (int dy = 0; dy < 3; dy++)
#pragma unroll
    for (int dx = 0; dx < 3; dx++) s += tile[threadIdx.y + dy][threadIdx.x + dx] * (dx + 3 * dy);
  out[(y0 + threadIdx.y) * w + x0 + threadIdx.x] = s;
}
// --- matrices --------------------------------------------------------------------------------
__global__ void matvec_warp(const float* a, const float* x, float* y, int columns) {
  int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  float s = 0;
  for (int c = lane; c < columns; c += 32) s += a[(size_t)row * columns + c] * x[c];
  for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (lane == 0) y[row] = s;
}
__global__ void matvec_thread(const float* a, const float* x, float* y, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (int c = 0; c < columns; c++) s += a[(size_t)row * columns + c] * x[c];
  y[row] = s;
}
__global__ void product_plain(const float* a, const float* b, float* c, int m, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (int i = 0; i < k; i++) s += a[row * k + i] * b[i * n + column];
  c[row * n + column] = s;
}
template <class T, int TILE> __global__ void product_tiles(const T* a, const T* b, T* c, int n) {
  __shared__ T ta[TILE][TILE + 1], tb[TILE][TILE + 1];
  int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  T s = 0;
  for (int t = 0; t < n; t += TILE) {
    ta[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
    tb[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < TILE; k++) s += ta[threadIdx.y][k] * tb[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = s;
}
__global__ void product_column(const float* a, const float* b, float* c, int n) {  // eight rows a thread
  __shared__ float ta[64][9];
  int column = blockIdx.x * 64 + threadIdx.x % 64, part = threadIdx.x / 64, row0 = blockIdx.y * 64;
  float s[16] = {};
  for (int t = 0; t < n; t += 8) {
    for (int i = threadIdx.x; i < 512; i += 256) ta[i / 8][i % 8] = a[(row0 + i / 8) * n + t + i % 8];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; k++) {
      float v = b[(t + k) * n + column];
#pragma unroll
      for (int r = 0; r < 16; r++) s[r] += ta[part * 16 + r][k] * v;
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < 16; r++) c[(row0 + part * 16 + r) * n + column] = s[r];
}
__global__ void transpose_doubles(const double* in, double* out, int w, int h) {
  __shared__ double t[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  t[threadIdx.y][threadIdx.x] = in[y * w + x];
  __syncthreads();
  out[(blockIdx.x * 16 + threadIdx.y) * h + blockIdx.y * 16 + threadIdx.x] = t[threadIdx.x][threadIdx.y];
}
__global__ void transpose_reads(const float* in, float* out, int w, int h) {  // strided loads, whole stores
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  out[y * w + x] = in[x * h + y];
}
// --- reductions, scans, sorting --------------------------------------------------------------
__global__ void dot(const float* a, const float* b, float* out, int n) {
  __shared__ float s[8];
  float v = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) v += a[i] * b[i];
  for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) { for (int w = 1; w < 8; w++) v += s[w]; out[blockIdx.x] = v; }
}
__global__ void row_softmax(const float* in, float* out, int columns) {
  __shared__ float s[9];
  const float* row = in + (size_t)blockIdx.x * columns;
  float most = -1e30f, sum = 0;
  for (int c = threadIdx.x; c < columns; c += 256) most = fmaxf(most, row[c]);
  for (int d = 16; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = most;
  __syncthreads();
  for (int w = 0; w < 8; w++) most = fmaxf(most, s[w]);
  __syncthreads();
  for (int c = threadIdx.x; c < columns; c += 256) sum += __expf(row[c] - most);
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int w = 0; w < 8; w++) sum += s[w];
  for (int c = threadIdx.x; c < columns; c += 256) out[(size_t)blockIdx.x * columns + c] = __expf(row[c] - most) / sum;
}
__global__ void scan_warps(const int* in, int* out) {
  __shared__ int sums[32];
  int i = blockIdx.x * 1024 + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32, v = in[i];
  for (int d = 1; d < 32; d *= 2) { int o = __shfl_up_sync(~0u, v, d); if (lane >= d) v += o; }
  if (lane == 31) sums[warp] = v;
  __syncthreads();
  if (warp == 0) {
    int s = sums[lane];
    for (int d = 1; d < 32; d *= 2) { int o = __shfl_up_sync(~0u, s, d); if (lane >= d) s += o; }
    sums[lane] = s;
  }
  __syncthreads();
  out[i] = v + (warp ? sums[warp - 1] : 0);
}
__global__ void bitonic(int* data) {
  __shared__ int s[512];
  int t = threadIdx.x;
  s[t] = data[blockIdx.x * 512 + t];
  s[t + 256] = data[blockIdx.x * 512 + t + 256];
  for (int size = 2; size <= 512; size *= 2)
    for (int step = size / 2; step > 0; step /= 2) {
      __syncthreads();
      int i = 2 * t - (t & (step - 1));
      bool up = (i & size) == 0;
      int a = s[i], b = s[i + step];
      if ((a > b) == up) { s[i] = b; s[i + step] = a; }
    }
  __syncthreads();
  data[blockIdx.x * 512 + t] = s[t];
  data[blockIdx.x * 512 + t + 256] = s[t + 256];
}
// --- atomics ---------------------------------------------------------------------------------
__global__ void count_matches(const int* in, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && (in[i] & 7) == 0) atomicAdd(count, 1);
}
__global__ void histogram_wide(const int* in, int* bins, int n, int mask) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[in[i] & mask], 1);
}
__global__ void histogram_block(const int* in, int* bins, int n) {
  __shared__ int h[64];
  if (threadIdx.x < 64) h[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&h[in[i] & 63], 1);
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], h[threadIdx.x]);
}
// --- arithmetic ------------------------------------------------------------------------------
template <int CHAINS> __global__ void polynomial(float* out, float a, float b, int trips) {
  float v[CHAINS];
  for (int c = 0; c < CHAINS; c++) v[c] = threadIdx.x + c;
  for (int i = 0; i < trips; i++)
#pragma unroll
    for (int c = 0; c < CHAINS; c++) v[c] = v[c] * a + b;
  float s = 0;
  for (int c = 0; c < CHAINS; c++) s += v[c];
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
__global__ void horner_double(const double* x, double* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double v = x[i], s = 0;
  for (int k = 0; k < 64; k++) s = s * v + 1.0 / (k + 1);
  y[i] = s;
}
__global__ void options(const float* price, const float* strike, float* call, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = price[i] + 10, x = strike[i] + 10, root = sqrtf(0.5f);
  float d1 = (logf(s / x) + 0.3f) / (0.2f * root), d2 = d1 - 0.2f * root;
  float n1 = 1 / (1 + expf(-1.6f * d1)), n2 = 1 / (1 + expf(-1.6f * d2));
  call[i] = s * n1 - x * expf(-0.02f) * n2;
}
__global__ void bodies(const float4* in, float4* out, int n) {
  __shared__ float4 tile[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  float4 me = in[i], acc = make_float4(0, 0, 0, 0);
  for (int t = 0; t < n; t += 256) {
    tile[threadIdx.x] = in[t + threadIdx.x];
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < 256; k++) {
      float4 o = tile[k];
      float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z, r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), f = o.w * r * r * r;
      acc.x += dx * f; acc.y += dy * f; acc.z += dz * f;
    }
    __syncthreads();
  }
  out[i] = acc;
}
__global__ void mandelbrot(int* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  float cx = -2.0f + 3.0f * x / w, cy = -1.0f + 2.0f * y / h, a = 0, b = 0;
  int k = 0;
  for (; k < 200 && a * a + b * b < 4; k++) { float t = a * a - b * b + cx; b = 2 * a * b + cy; a = t; }
  out[y * w + x] = k;
}
__global__ void hashes(unsigned* out, int trips) {
  unsigned v = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < trips; i++) { v ^= v << 13; v ^= v >> 17; v ^= v << 5; v += i; }
  out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
__constant__ float weights[256];
__global__ void filter(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (int k = 0; k < 32; k++) s += weights[k] * in[(i + k) & (n - 1)];
  out[i] = s;
}
__global__ void lookup(const int* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = weights[in[i] & 255];
}
// --- few threads, tails, local memory ----------------------------------------------------------
__global__ void walk(const int* next, int* out, int steps) {
  int at = threadIdx.x + blockIdx.x * blockDim.x;
  for (int k = 0; k < steps; k++) at = next[at];
  out[threadIdx.x + blockIdx.x * blockDim.x] = at;
}
__global__ void long_blocks(const float* in, float* out, int trips) {
  float s = 0;
  for (int k = 0; k < trips; k++) s = s * 0.5f + in[(blockIdx.x * trips + k) * blockDim.x + threadIdx.x];
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
__global__ void small_stack(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, stack[16], top = 0;
  if (i >= n) return;
  int v = in[i];
  for (int k = 0; k < 12; k++) { if ((v >> k) & 1 || top == 0) stack[top++] = v + k; else v += stack[--top]; }
  while (top) v ^= stack[--top];
  out[i] = v;
}

static std::vector<std::pair<std::string, std::function<void()>>> cases;
static unsigned state = 777;
static unsigned next_random() { return state = state * 1664525u + 1013904223u; }
template <class T> static T* device(size_t n) { T* p; CHECK(cudaMalloc(&p, n * sizeof(T))); CHECK(cudaMemset(p, 0, n * sizeof(T))); return p; }
static float* floats(size_t n) { std::vector<float> h(n); for (auto& v : h) v = (next_random() >> 8) / 16777216.0f; float* p = device<float>(n); CHECK(cudaMemcpy(p, h.data(), n * 4, cudaMemcpyHostToDevice)); return p; }
static int* integers(size_t n, unsigned below) { std::vector<int> h(n); for (auto& v : h) v = (next_random() >> 4) % below; int* p = device<int>(n); CHECK(cudaMemcpy(p, h.data(), n * 4, cudaMemcpyHostToDevice)); return p; }

int main(int argc, char** argv) {
  int repeats = argc > 1 ? atoi(argv[1]) : 1;
  const char* only = argc > 2 ? argv[2] : nullptr;
  const int M = 1 << 20, N = 1 << 23;
  float *a = floats(N), *b = floats(N), *c = device<float>(N);
  double *da = device<double>(N / 2), *db = device<double>(N / 2);
  int *index = integers(N, N), *near = integers(N, 1 << 16), *i0 = integers(N, 1 << 28), *i1 = device<int>(N);
  auto add = [&](std::string name, std::function<void()> run) { cases.push_back({name, run}); };
  add("sum_columns_1", [=] { sum_columns<1><<<N / 256, 256>>>(a, c, N); });
  add("sum_columns_4", [=] { sum_columns<4><<<N / 4 / 256, 256>>>(a, c, N / 4); });
  add("sum_columns_8", [=] { sum_columns<8><<<N / 8 / 128, 128>>>(a, c, N / 8); });
  add("sum_columns_4_few", [=] { sum_columns<4><<<N / 4 / 256, 256, 48000>>>(a, c, N / 4); });
  add("saxpy_stride", [=] { saxpy_stride<<<528, 512>>>(a, c, 2.0f, N); });
  add("copy_char", [=] { copy<char><<<N / 256, 256>>>((char*)a, (char*)c, N); });
  add("copy_short", [=] { copy<short><<<N / 512, 512>>>((short*)a, (short*)c, N); });
  add("copy_double", [=] { copy<double><<<N / 2 / 128, 128>>>((double*)a, (double*)c, N / 2); });
  add("copy_small", [=] { copy<float><<<64, 256>>>(a, c, 64 * 256); });
  add("fill", [=] { fill<<<N / 4 / 256, 256>>>((float4*)c, N / 4); });
  add("stride_three", [=] { stride_three<<<N / 4 / 256, 256>>>(a, c, N / 4); });
  add("gather_far", [=] { gather<<<M / 256, 256>>>(index, a, c, M); });
  add("gather_near", [=] { gather<<<N / 4 / 256, 256>>>(near, a, c, N / 4); });
  add("scatter_far", [=] { scatter<<<M / 256, 256>>>(index, a, c, M); });
  add("stencil_line", [=] { stencil_line<<<N / 256, 256>>>(a, c, N); });
  add("stencil_plane", [=] { stencil_plane<<<dim3(64, 256), dim3(32, 8)>>>(a, c, 2048, 2048); });
  add("convolution_tile", [=] { convolution_tile<<<dim3(64, 128), dim3(32, 16)>>>(a, c, 2048, 2048); });
  add("matvec_warp", [=] { matvec_warp<<<2048 / 8, 256>>>(a, b, c, 4096); });
  add("matvec_thread", [=] { matvec_thread<<<4096 / 64, 64>>>(a, b, c, 1024); });
  add("product_plain", [=] { product_plain<<<dim3(2048 / 32, 512 / 8), dim3(32, 8)>>>(a, b, c, 512, 2048, 256); });
  add("product_tiles_8", [=] { product_tiles<float, 8><<<dim3(64, 64), dim3(8, 8)>>>(a, b, c, 512); });
  add("product_tiles_32", [=] { product_tiles<float, 32><<<dim3(16, 16), dim3(32, 32)>>>(a, b, c, 512); });
  add("product_tiles_double", [=] { product_tiles<double, 16><<<dim3(32, 32), dim3(16, 16)>>>(da, db, da, 512); });
  add("product_column", [=] { product_column<<<dim3(16, 16), 256>>>(a, b, c, 1024); });
  add("transpose_doubles", [=] { transpose_doubles<<<dim3(64, 128), dim3(16, 16)>>>(da, db, 1024, 2048); });
  add("transpose_reads", [=] { transpose_reads<<<dim3(64, 256), dim3(32, 8)>>>(a, c, 2048, 2048); });
  add("dot", [=] { dot<<<264, 256>>>(a, b, c, N); });
  add("row_softmax", [=] { row_softmax<<<4096, 256>>>(a, c, 1000); });
  add("scan_warps", [=] { scan_warps<<<4096, 1024>>>(i0, i1); });
  add("bitonic", [=] { bitonic<<<2048, 256>>>(i1); });
  add("count_matches", [=] { count_matches<<<N / 256, 256>>>(i0, i1, N); });
  add("histogram_wide_1023", [=] { histogram_wide<<<528, 256>>>(i0, i1, M, 1023); });
  add("histogram_wide_all", [=] { histogram_wide<<<528, 256>>>(i0, i1, M, (1 << 22) - 1); });
  add("histogram_block", [=] { histogram_block<<<528, 256>>>(i0, i1, N); });
  add("polynomial_1", [=] { polynomial<1><<<1056, 256>>>(c, 0.5f, 1.0f, 2000); });
  add("polynomial_1_few", [=] { polynomial<1><<<132, 128>>>(c, 0.5f, 1.0f, 4000); });
  add("polynomial_4", [=] { polynomial<4><<<1056, 256>>>(c, 0.5f, 1.0f, 1000); });
  add("horner_double", [=] { horner_double<<<M / 256, 256>>>(da, db, M); });
  add("options", [=] { options<<<N / 2 / 256, 256>>>(a, b, c, N / 2); });
  add("bodies", [=] { bodies<<<64, 256>>>((float4*)a, (float4*)c, 16384); });
  add("mandelbrot", [=] { mandelbrot<<<dim3(64, 128), dim3(32, 8)>>>(i1, 2048, 1024); });
  add("hashes", [=] { hashes<<<2112, 256>>>((unsigned*)i1, 200); });
  add("filter", [=] { filter<<<M / 256, 256>>>(a, c, M); });
  add("lookup", [=] { lookup<<<M / 256, 256>>>(i0, c, M); });
  add("walk_one", [=] { walk<<<1, 32>>>(index, i1, 400); });
  add("walk_many", [=] { walk<<<264, 256>>>(near, i1, 100); });
  add("long_blocks_132", [=] { long_blocks<<<132, 1024>>>(a, c, 60); });
  add("long_blocks_267", [=] { long_blocks<<<267, 1024>>>(a, c, 30); });
  add("small_stack", [=] { small_stack<<<M / 256, 256>>>(i0, i1, M); });
  for (auto& [name, run] : cases) {
    if (only && name != only) continue;
    for (int r = 0; r < repeats; r++) { run(); CHECK(cudaGetLastError()); }
    CHECK(cudaDeviceSynchronize());
    printf("%s\n", name.c_str());
  }
}
