// Ordinary kernels of many fields, none of them written to show an effect.
#include "common.h"
#include <cuda_fp16.h>

typedef unsigned int u32;
#define I (blockIdx.x * blockDim.x + threadIdx.x)

__global__ void spmv_csr(const int* rows, const int* columns, const float* values, const float* x, float* y, int n) {
  int row = I;
  if (row >= n) return;
  float sum = 0;
  for (int k = rows[row]; k < rows[row + 1]; k++) sum += values[k] * x[columns[k]];
  y[row] = sum;
}
__global__ void spmv_warp(const int* rows, const int* columns, const double* values, const double* x, double* y, int n) {
  int row = I / 32, lane = threadIdx.x % 32;
  if (row >= n) return;
  double sum = 0;
  for (int k = rows[row] + lane; k < rows[row + 1]; k += 32) sum += values[k] * x[columns[k]];
  for (int d = 16; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  if (lane == 0) y[row] = sum;
}
__global__ void nbody(const float4* bodies, float3* forces, int n) {
  __shared__ float4 tile[128];
  float4 me = bodies[I];
  float3 f = make_float3(0, 0, 0);
  for (int base = 0; base < n; base += 128) {
    tile[threadIdx.x] = bodies[base + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < 128; k++) {
      float4 other = tile[k];
      float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), s = other.w * inverse * inverse * inverse;
      f.x += dx * s; f.y += dy * s; f.z += dz * s;
    }
    __syncthreads();
  }
  forces[I] = f;
}
__constant__ float taps[25];
__global__ void conv2d(const float* in, float* out, int w, int h) {
  __shared__ float tile[12][36];
  int x0 = blockIdx.x * 32 - 2, y0 = blockIdx.y * 8 - 2;
  for (int y = threadIdx.y; y < 12; y += 8)
    for (int x = threadIdx.x; x < 36; x += 32) {
      int gx = min(max(x0 + x, 0), w - 1), gy = min(max(y0 + y, 0), h - 1);
      tile[y][x] = in[gy * w + gx];
    }
  __syncthreads();
  float sum = 0;
  for (int dy = 0; dy < 5; dy++)
    for (int dx = 0; dx < 5; dx++) sum += taps[dy * 5 + dx] * tile[threadIdx.y + dy][threadIdx.x + dx];
  int x = x0 + 2 + threadIdx.x, y = y0 + 2 + threadIdx.y;
  if (x < w && y < h) out[y * w + x] = sum;
}
__global__ void bfs_step(const int* rows, const int* columns, int* level, int* changed, int n, int depth) {
  int node = I;
  if (node >= n || level[node] != depth) return;
  for (int k = rows[node]; k < rows[node + 1]; k++) {
    int to = columns[k];
    if (level[to] == 1 << 20) { atomicMin(level + 4096 + to, depth + 1); *changed = 1; }
  }
}
__global__ void merge_path(const int* a, const int* b, int* out, int n, int m) {
  int diagonal = I, lo = max(0, diagonal - m), hi = min(diagonal, n);
  if (diagonal >= n + m) return;
  while (lo < hi) {
    int mid = (lo + hi) >> 1;
    if (a[mid] <= b[diagonal - 1 - mid]) lo = mid + 1;
    else hi = mid;
  }
  int i = lo, j = diagonal - lo;
  out[diagonal] = j >= m || (i < n && a[i] <= b[j]) ? a[i] : b[j];
}
__global__ void bitonic_sort(int* data) {
  __shared__ int s[512];
  int t = threadIdx.x;
  s[t] = data[blockIdx.x * 512 + t];
  s[t + 256] = data[blockIdx.x * 512 + t + 256];
  for (int size = 2; size <= 512; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      int at = 2 * t - (t & (stride - 1));
      bool up = (at & size) == 0;
      int x = s[at], y = s[at + stride];
      if ((x > y) == up) { s[at] = y; s[at + stride] = x; }
    }
  __syncthreads();
  data[blockIdx.x * 512 + t] = s[t];
  data[blockIdx.x * 512 + t + 256] = s[t + 256];
}
__global__ void mandelbrot(unsigned char* image, int w, int h, int limit) {
  int x = I, y = blockIdx.y;
  if (x >= w) return;
  float cx = x * 3.0f / w - 2.0f, cy = y * 2.0f / h - 1.0f, zx = 0, zy = 0;
  int n = 0;
  while (n < limit && zx * zx + zy * zy < 4.0f) { float z = zx * zx - zy * zy + cx; zy = 2 * zx * zy + cy; zx = z; n++; }
  image[y * w + x] = n;
}
__global__ void radix_count(const u32* keys, int* counts, int n, int shift) {
  __shared__ int digits[16];
  if (threadIdx.x < 16) digits[threadIdx.x] = 0;
  __syncthreads();
  for (int i = I; i < n; i += gridDim.x * blockDim.x) atomicAdd(&digits[keys[i] >> shift & 15], 1);
  __syncthreads();
  if (threadIdx.x < 16) counts[threadIdx.x * gridDim.x + blockIdx.x] = digits[threadIdx.x];
}
__global__ void fft_256(float2* data) {
  __shared__ float2 s[256];
  int t = threadIdx.x;
  float2* mine = data + blockIdx.x * 256;
  s[__brev(t) >> 24] = mine[t];
  s[__brev(t + 128) >> 24] = mine[t + 128];
  for (int half = 1; half < 256; half *= 2) {
    __syncthreads();
    int k = t % half, at = t / half * 2 * half + k;
    float c, d;
    __sincosf(-3.14159265f * k / half, &d, &c);
    float2 a = s[at], b = s[at + half];
    float2 p = make_float2(b.x * c - b.y * d, b.x * d + b.y * c);
    s[at] = make_float2(a.x + p.x, a.y + p.y);
    s[at + half] = make_float2(a.x - p.x, a.y - p.y);
  }
  __syncthreads();
  mine[t] = s[t];
  mine[t + 128] = s[t + 128];
}
struct Pixel { unsigned char r, g, b; };
__global__ void gray(const Pixel* in, unsigned char* out, int n) {
  int i = I;
  if (i < n) out[i] = (in[i].r * 77 + in[i].g * 151 + in[i].b * 28) >> 8;
}
struct Record { int key; short flags; char tag[6]; double weight; float extra; };
__global__ void copy_records(const Record* in, Record* out, const int* order, int n) {
  int i = I;
  if (i < n) out[i] = in[order[i]];
}
__global__ void stencil_3d(const float* in, float* out, int n) {
  int x = threadIdx.x + 1, y = blockIdx.x + 1;
  if (x >= n - 1) return;
  float below = in[y * n + x], here = in[(n + y) * n + x];
  for (int z = 1; z < n - 1; z++) {
    float above = in[((z + 1) * n + y) * n + x];
    const float* p = in + (z * n + y) * n + x;
    out[(z * n + y) * n + x] = 0.4f * here + 0.1f * (above + below + p[-1] + p[1] + p[n] + p[-n]);
    below = here; here = above;
  }
}
__global__ void life(const unsigned char* in, unsigned char* out, int w, int h) {
  int x = I, y = blockIdx.y;
  if (x >= w) return;
  int alive = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++)
      if (dx || dy) alive += in[(y + dy + h) % h * w + (x + dx + w) % w];
  out[y * w + x] = alive == 3 || (alive == 2 && in[y * w + x]);
}
__global__ void floyd_warshall(int* d, int n, int k) {
  int j = I, i = blockIdx.y;
  if (j >= n) return;
  int through = d[i * n + k] + d[k * n + j];
  if (i != k && j != k && through < d[i * n + j]) d[i * n + j] = through;
}
__global__ void kmeans_assign(const float* points, const float* centers, int* label, int n, int k, int dims) {
  extern __shared__ float c[];
  for (int i = threadIdx.x; i < k * dims; i += blockDim.x) c[i] = centers[i];
  __syncthreads();
  int i = I;
  if (i >= n) return;
  float best = 1e30f;
  int nearest = 0;
  for (int j = 0; j < k; j++) {
    float sum = 0;
    for (int m = 0; m < dims; m++) { float x = points[m * n + i] - c[j * dims + m]; sum += x * x; }
    if (sum < best) { best = sum; nearest = j; }
  }
  label[i] = nearest;
}
__global__ void black_scholes(const float* price, const float* strike, const float* years, float* call, float* put, int n) {
  for (int i = I; i < n; i += gridDim.x * blockDim.x) {
    float s = price[i], x = strike[i], t = years[i], root = sqrtf(t);
    float d1 = (__logf(s / x) + 0.08f * t) / (0.3f * root), d2 = d1 - 0.3f * root;
    float p = normcdff(d1), q = normcdff(d2), e = __expf(-0.035f * t);
    call[i] = s * p - x * e * q;
    put[i] = x * e * (1.0f - q) - s * (1.0f - p);
  }
}
__global__ void thomas(const float* a, const float* b, const float* c, float* d, float* scratch, int n, int systems) {
  int s = I;
  if (s >= systems) return;
  float w = b[s];
  d[s] /= w;
  for (int i = 1; i < n; i++) {
    float g = c[(i - 1) * systems + s] / w;
    scratch[i * systems + s] = g;
    w = b[i * systems + s] - a[i * systems + s] * g;
    d[i * systems + s] = (d[i * systems + s] - a[i * systems + s] * d[(i - 1) * systems + s]) / w;
  }
  for (int i = n - 2; i >= 0; i--) d[i * systems + s] -= scratch[(i + 1) * systems + s] * d[(i + 1) * systems + s];
}
__device__ inline void order(unsigned char& a, unsigned char& b) { unsigned char x = min(a, b); b = max(a, b); a = x; }
__global__ void median_3x3(const unsigned char* in, unsigned char* out, int w, int h) {
  int x = I + 1, y = blockIdx.y + 1;
  if (x >= w - 1) return;
  unsigned char v[9];
  for (int k = 0; k < 9; k++) v[k] = in[(y + k / 3 - 1) * w + x + k % 3 - 1];
  for (int i = 0; i < 5; i++)
    for (int j = i + 1; j < 9; j++) order(v[i], v[j]);
  out[y * w + x] = v[4];
}
__global__ void bilinear(const uchar4* in, uchar4* out, int w, int h, float scale) {
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  float u = x * scale, v = y * scale;
  int i = min((int)u, w - 2), j = min((int)v, h - 2);
  uchar4 a = in[j * w + i], b = in[j * w + i + 1], c = in[(j + 1) * w + i], d = in[(j + 1) * w + i + 1];
  float p = u - i, q = v - j;
  auto mix = [=](int a, int b, int c, int d) { return (a * (1 - p) + b * p) * (1 - q) + (c * (1 - p) + d * p) * q; };
  out[y * gridDim.x * 16 + x] = make_uchar4(mix(a.x, b.x, c.x, d.x), mix(a.y, b.y, c.y, d.y), mix(a.z, b.z, c.z, d.z), 255);
}
__global__ void dot_bytes(const int* a, const int* b, int* out, int n) {
  int sum = 0;
  for (int i = I; i < n; i += gridDim.x * blockDim.x) sum = __dp4a(a[i], b[i], sum);
  __shared__ int part[8];
#if __CUDA_ARCH__ >= 800
  sum = __reduce_add_sync(~0u, sum);
#else
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
#endif
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int k = 1; k < 8; k++) sum += part[k];
    atomicAdd(out, sum);
  }
}
__global__ void axpy_half2(const __half2* x, __half2* y, float a, int n) {
  int i = I;
  if (i < n) y[i] = __hfma2(__float2half2_rn(a), x[i], y[i]);
}
__global__ void softmax_rows(const float* in, float* out, int n) {
  const float* row = in + blockIdx.x * n;
  __shared__ float part[4];
  float top = -1e30f, sum = 0;
  for (int i = threadIdx.x; i < n; i += 128) top = fmaxf(top, row[i]);
  for (int d = 16; d; d /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = top;
  __syncthreads();
  top = fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3]));
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += 128) sum += __expf(row[i] - top);
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = part[0] + part[1] + part[2] + part[3];
  for (int i = threadIdx.x; i < n; i += 128) out[blockIdx.x * n + i] = __expf(row[i] - top) / sum;
}
__global__ void scan_warps(const int* in, int* out, int* totals) {
  __shared__ int sums[32];
  int t = threadIdx.x, lane = t % 32, warp = t / 32, v = in[I];
  for (int d = 1; d < 32; d *= 2) { int u = __shfl_up_sync(~0u, v, d); if (lane >= d) v += u; }
  if (lane == 31) sums[warp] = v;
  __syncthreads();
  if (warp == 0) {
    int s = lane < blockDim.x / 32 ? sums[lane] : 0;
    for (int d = 1; d < 32; d *= 2) { int u = __shfl_up_sync(~0u, s, d); if (lane >= d) s += u; }
    sums[lane] = s;
  }
  __syncthreads();
  if (warp) v += sums[warp - 1];
  out[I] = v;
  if (t == blockDim.x - 1) totals[blockIdx.x] = v;
}
__global__ void matmul_batched_4x4(const float* a, const float* b, float* c) {
  int which = I / 16, r = threadIdx.x / 4 % 4, col = threadIdx.x % 4;
  float sum = 0;
  for (int k = 0; k < 4; k++) sum += a[which * 16 + r * 4 + k] * b[which * 16 + k * 4 + col];
  c[which * 16 + r * 4 + col] = sum;
}
__global__ void levenshtein(const char* a, const char* b, int* out, int n) {
  __shared__ int row[3][65];
  int t = threadIdx.x;
  for (int d = 0; d <= 2 * n; d++) {
    int i = t, j = d - t;
    if (i <= n && j >= 0 && j <= n) {
      int v;
      if (i == 0 || j == 0) v = i + j;
      else {
        int same = a[blockIdx.x * n + i - 1] == b[blockIdx.x * n + j - 1] ? 0 : 1;
        v = min(min(row[(d + 2) % 3][i - 1], row[(d + 2) % 3][i]) + 1, row[(d + 1) % 3][i - 1] + same);
      }
      row[d % 3][i] = v;
    }
    __syncthreads();
  }
  if (t == n) out[blockIdx.x] = row[2 * n % 3][n];
}
__global__ void match(const char* text, const char* word, int* found, int n, int length) {
  int i = I;
  if (i > n - length) return;
  for (int k = 0; k < length; k++)
    if (text[i + k] != word[k]) return;
  found[i] = 1;
}
template <int TILE> __global__ void gemm_double(const double* a, const double* b, double* c, int n) {
  __shared__ double sa[TILE][TILE + 1], sb[TILE][TILE];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  double sum = 0;
  for (int base = 0; base < n; base += TILE) {
    sa[threadIdx.y][threadIdx.x] = y < n && base + threadIdx.x < n ? a[y * n + base + threadIdx.x] : 0.0;
    sb[threadIdx.y][threadIdx.x] = x < n && base + threadIdx.y < n ? b[(base + threadIdx.y) * n + x] : 0.0;
    __syncthreads();
    for (int k = 0; k < TILE; k++) sum += sa[threadIdx.y][k] * sb[k][threadIdx.x];
    __syncthreads();
  }
  if (x < n && y < n) c[y * n + x] = sum;
}
__global__ void ray_spheres(const float4* spheres, int count, float* depth, int w) {
  int x = I, y = blockIdx.y;
  if (x >= w) return;
  float dx = x * 2.0f / w - 1, dy = y * 0.1f - 1, best = 1e9f;
  for (int k = 0; k < count; k++) {
    float4 s = spheres[k];
    float b = s.x * dx + s.y * dy + s.z, c = s.x * s.x + s.y * s.y + s.z * s.z - s.w * s.w;
    float a = dx * dx + dy * dy + 1, disc = b * b - a * c;
    if (disc > 0) { float t = (b - sqrtf(disc)) / a; if (t > 0 && t < best) best = t; }
  }
  depth[y * w + x] = best;
}
__device__ u32 next_random(u32& s) { s ^= s << 13; s ^= s >> 17; s ^= s << 5; return s; }
__global__ void random_walk(const int* field, int* visits, int steps, int w) {
  u32 s = I * 2654435761u + 1;
  int x = I % w, y = I / w % w;
  for (int k = 0; k < steps; k++) {
    u32 r = next_random(s) >> 8 & 3;
    if (r == 0) x = (x + 1) % w;
    else if (r == 1) x = (x + w - 1) % w;
    else if (r == 2) y = (y + 1) % w;
    else y = (y + w - 1) % w;
    if (field[y * w + x] < 100) break;
    atomicAdd(visits + y * w + x, 1);
  }
}
__global__ void bit_reverse(const float2* in, float2* out, int bits) {
  int i = I;
  out[__brev(i) >> (32 - bits)] = in[i];
}
__global__ void lu_column(float* m, int n, int k) {
  int row = I + k + 1;
  if (row >= n) return;
  float factor = m[row * n + k] /= m[k * n + k];
  for (int j = k + 1; j < n; j++) m[row * n + j] -= factor * m[k * n + j];
}

#define CASE(NAME, ...) cases.push_back({NAME, [=] { __VA_ARGS__; }})
static int* upload(const std::vector<int>& h) {
  int* d = dalloc<int>(h.size());
  CK(cudaMemcpy(d, h.data(), h.size() * 4, cudaMemcpyHostToDevice));
  return d;
}
int main(int argc, char** argv) {
  const int N = 2000;
  std::vector<int> rows(N + 1), columns, rising(4096), level(8192, 1 << 20), letters(4096);
  for (int i = 0; i < N; i++) { rows[i] = columns.size(); for (u32 k = lcg() >> 27; k; k--) columns.push_back((lcg() >> 8) % N); }
  rows[N] = columns.size();
  for (int i = 0; i < 4096; i++) rising[i] = i * 3 + i % 2;
  for (int i = 0; i < N; i += 3) level[i] = 2;
  int *r = upload(rows), *c = upload(columns), *rise = upload(rising), *lev = upload(level);
  float *f = dfloat(1 << 18), *g = dfloat(1 << 18), *o = dalloc<float>(1 << 18);
  float *signal = dfloat(1 << 12), *matrix = dfloat(1 << 14);
  int *v = dints(1 << 16, 1 << 30), *small = dints(1 << 16, 1000), *w = dalloc<int>(1 << 16), *order = dints(4096, 1500);
  int *keys = dints(5000, 1 << 30), *distance = dints(8100, 1000);
  double *da = dalloc<double>(1 << 16), *db = dalloc<double>(1 << 16);
  unsigned char* image = (unsigned char*)dints(1 << 16, 1 << 30);
  std::vector<float> weights(25, 0.04f);
  CK(cudaMemcpyToSymbol(taps, weights.data(), 100));
  CASE("spmv_csr", spmv_csr<<<16, 128>>>(r, c, f, g, o, N));
  CASE("spmv_warp", spmv_warp<<<500, 128>>>(r, c, da, db, db + 4096, N));
  CASE("nbody", nbody<<<4, 128>>>((float4*)f, (float3*)o, 512));
  CASE("conv2d", conv2d<<<dim3(4, 12), dim3(32, 8)>>>(f, o, 121, 93));
  CASE("bfs_step", bfs_step<<<16, 128>>>(r, c, lev, w, N, 2));
  CASE("merge_path", merge_path<<<20, 128>>>(rise, rise + 1000, w, 1000, 1400));
  CASE("bitonic_sort", bitonic_sort<<<4, 256>>>(v));
  CASE("mandelbrot", mandelbrot<<<dim3(2, 40), 96>>>((unsigned char*)o, 150, 40, 60));
  CASE("radix_count", radix_count<<<8, 128>>>((u32*)keys, w, 5000, 4));
  CASE("fft_256", fft_256<<<6, 128>>>((float2*)signal));
  CASE("gray", gray<<<16, 128>>>((Pixel*)image, (unsigned char*)o, 2001));
  CASE("copy_records", copy_records<<<8, 128>>>((Record*)f, (Record*)o, order, 1000));
  CASE("stencil_3d", stencil_3d<<<30, 32>>>(f, o, 32));
  CASE("life", life<<<dim3(2, 30), 64>>>(image, (unsigned char*)o, 100, 30));
  CASE("floyd_warshall", floyd_warshall<<<dim3(2, 90), 64>>>(distance, 90, 17));
  CASE("kmeans_assign", kmeans_assign<<<8, 128, 7 * 5 * 4>>>(f, g, w, 1000, 7, 5));
  CASE("black_scholes", black_scholes<<<4, 128>>>(f, g, f + 5000, o, o + 5000, 3000));
  CASE("thomas", thomas<<<3, 64>>>(f, f + 40000, g, g + 40000, o, 20, 150));
  CASE("median_3x3", median_3x3<<<dim3(2, 20), 64>>>(image, (unsigned char*)o, 110, 22));
  CASE("bilinear", bilinear<<<dim3(5, 4), dim3(16, 16)>>>((uchar4*)image, (uchar4*)o, 50, 40, 0.6f));
  CASE("dot_bytes", dot_bytes<<<6, 256>>>(v, small, w, 10000));
  CASE("axpy_half2", axpy_half2<<<8, 128>>>((__half2*)f, (__half2*)o, 1.5f, 999));
  CASE("softmax_rows", softmax_rows<<<9, 128>>>(f, o, 333));
  CASE("scan_warps", scan_warps<<<4, 512>>>(small, w, w + 8192));
  CASE("matmul_batched_4x4", matmul_batched_4x4<<<8, 128>>>(f, g, o));
  CASE("levenshtein", levenshtein<<<5, 64>>>((char*)image, (char*)v, w, 50));
  CASE("match", match<<<30, 128>>>((char*)small, (char*)small + 998, w, 3800, 6));
  CASE("gemm_double", gemm_double<16><<<dim3(5, 5), dim3(16, 16)>>>(da, db, db + 20000, 70));
  CASE("ray_spheres", ray_spheres<<<dim3(2, 20), 64>>>((float4*)f, 11, o, 120));
  CASE("random_walk", random_walk<<<8, 128>>>(small, w, 40, 64));
  CASE("bit_reverse", bit_reverse<<<8, 128>>>((float2*)f, (float2*)o, 10));
  CASE("lu_column", lu_column<<<1, 96>>>(matrix, 90, 3));
  return run_all(argc, argv);
}
