// Kernels as users write them, to judge the model of caches and time by; none was looked at while it was made.
// `user_kernels [CASE [REPEATS]]`
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

#include "common.h"

constexpr int M = 1 << 20;

// --- neighbours ------------------------------------------------------------------------------
__global__ void heat_2d(const float* in, float* out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
  int i = y * width + x;
  out[i] = in[i] + 0.1f * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width] - 4 * in[i]);
}
__global__ void laplace_3d(const float* in, float* out, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1) return;
  int plane = nx * ny;
  for (int z = 1; z < nz - 1; z++) {
    int i = z * plane + y * nx + x;
    out[i] = in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - plane] + in[i + plane] - 6 * in[i];
  }
}
__global__ void jacobi_double(const double* in, const double* right, double* out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (x >= width - 1 || y >= height - 1) return;
  int i = y * width + x;
  out[i] = 0.25 * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width] - right[i]);
}
__global__ void sobel(const unsigned char* in, unsigned char* out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
  const unsigned char* p = in + y * width + x;
  int gx = p[-width + 1] + 2 * p[1] + p[width + 1] - p[-width - 1] - 2 * p[-1] - p[width - 1];
  int gy = p[width - 1] + 2 * p[width] + p[width + 1] - p[-width - 1] - 2 * p[-width] - p[-width + 1];
  out[y * width + x] = (unsigned char)min(255.0f, sqrtf((float)(gx * gx + gy * gy)));
}
__global__ void life(const unsigned char* in, unsigned char* out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int alive = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++)
      if (dx || dy) alive += in[(y + dy + height) % height * width + (x + dx + width) % width];
  out[y * width + x] = alive == 3 || (alive == 2 && in[y * width + x]);
}
__constant__ float weights[7][7];
__global__ void convolution_constant(const float* in, float* out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 3 || y < 3 || x >= width - 3 || y >= height - 3) return;
  float sum = 0;
  for (int j = 0; j < 7; j++)
    for (int i = 0; i < 7; i++) sum += weights[j][i] * in[(y + j - 3) * width + x + i - 3];
  out[y * width + x] = sum;
}
__global__ void blur_rows(const float* in, float* out, int width) {
  __shared__ float row[256 + 16];
  int x = blockIdx.x * 256 + threadIdx.x, first = blockIdx.x * 256 - 8;
  const float* line = in + blockIdx.y * width;
  for (int i = threadIdx.x; i < 256 + 16; i += 256) row[i] = first + i >= 0 && first + i < width ? line[first + i] : 0;
  __syncthreads();
  float sum = 0;
  for (int k = 0; k <= 16; k++) sum += row[threadIdx.x + k] * (1.0f / 17);
  out[blockIdx.y * width + x] = sum;
}
__global__ void gray(const uchar3* in, unsigned char* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = (unsigned char)(0.299f * in[i].x + 0.587f * in[i].y + 0.114f * in[i].z);
}

// --- matrices --------------------------------------------------------------------------------
__global__ void csr_thread(const int* start, const int* column, const float* value, const float* x, float* y, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int k = start[row]; k < start[row + 1]; k++) sum += value[k] * x[column[k]];
  y[row] = sum;
}
__global__ void csr_warp(const int* start, const int* column, const float* value, const float* x, float* y, int rows) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0;
  for (int k = start[row] + lane; k < start[row + 1]; k += 32) sum += value[k] * x[column[k]];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  if (lane == 0) y[row] = sum;
}
__global__ void matvec_block(const float* a, const float* x, float* y, int columns) {
  __shared__ float sums[256];
  float sum = 0;
  for (int c = threadIdx.x; c < columns; c += 256) sum += a[(size_t)blockIdx.x * columns + c] * x[c];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = sums[0];
}
__global__ void batched_products(const float* a, const float* b, float* c) {
  __shared__ float sa[16][16], sb[16][16];
  size_t at = (size_t)blockIdx.x * 256 + threadIdx.y * 16 + threadIdx.x;
  sa[threadIdx.y][threadIdx.x] = a[at];
  sb[threadIdx.y][threadIdx.x] = b[at];
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 16; k++) sum += sa[threadIdx.y][k] * sb[k][threadIdx.x];
  c[at] = sum;
}
__global__ void product_double(const double* a, const double* b, double* c, int n) {
  __shared__ double sa[16][17], sb[16][17];
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  double sum = 0;
  for (int t = 0; t < n; t += 16) {
    sa[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
    sb[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < 16; k++) sum += sa[threadIdx.y][k] * sb[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
// Each warp makes one 16 x 16 tile straight from global memory, as the programming guide shows it.
__global__ void wmma_plain(const half* a, const half* b, float* c, int n) {
  using namespace nvcuda;
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, row = warp / (n / 16) * 16, column = warp % (n / 16) * 16;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  for (int k = 0; k < n; k += 16) {
    wmma::load_matrix_sync(fa, a + row * n + k, n);
    wmma::load_matrix_sync(fb, b + k * n + column, n);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  wmma::store_matrix_sync(c + row * n + column, fc, n, wmma::mem_row_major);
}
// A block of 8 warps makes 64 x 64 from tiles in shared memory, each warp 16 x 32.
__global__ void wmma_tiles(const half* a, const half* b, float* c, int n) {
  using namespace nvcuda;
  __shared__ half sa[64][40], sb[32][72];
  int row = blockIdx.y * 64, column = blockIdx.x * 64, warp = threadIdx.x / 32;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc[2];
  for (auto& f : fc) wmma::fill_fragment(f, 0.0f);
  for (int k = 0; k < n; k += 32) {
    int r = threadIdx.x / 4, q = threadIdx.x % 4 * 8;
    *(float4*)&sa[r][q] = *(const float4*)&a[(row + r) * n + k + q];
    r = threadIdx.x / 8, q = threadIdx.x % 8 * 8;
    *(float4*)&sb[r][q] = *(const float4*)&b[(k + r) * n + column + q];
    __syncthreads();
    for (int kk = 0; kk < 32; kk += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
      wmma::load_matrix_sync(fa, &sa[warp / 2 * 16][kk], 40);
      for (int j = 0; j < 2; j++) {
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
        wmma::load_matrix_sync(fb, &sb[kk][warp % 2 * 32 + j * 16], 72);
        wmma::mma_sync(fc[j], fa, fb, fc[j]);
      }
    }
    __syncthreads();
  }
  for (int j = 0; j < 2; j++)
    wmma::store_matrix_sync(&c[(row + warp / 2 * 16) * n + column + warp % 2 * 32 + j * 16], fc[j], n, wmma::mem_row_major);
}
__global__ void floyd_step(const int* in, int* out, int n, int k) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  out[y * n + x] = min(in[y * n + x], in[y * n + k] + in[k * n + x]);
}

// --- rows and sums ---------------------------------------------------------------------------
__global__ void softmax_warp(const float* in, float* out, int columns) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  const float* p = in + row * columns;
  float top = -1e30f, sum = 0;
  for (int c = lane; c < columns; c += 32) top = fmaxf(top, p[c]);
  for (int d = 16; d > 0; d /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
  for (int c = lane; c < columns; c += 32) sum += __expf(p[c] - top);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  for (int c = lane; c < columns; c += 32) out[row * columns + c] = __expf(p[c] - top) / sum;
}
__global__ void prefix_rows(const float* in, float* out, int columns) {
  __shared__ float of_warp[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float before = 0;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    float v = in[blockIdx.x * columns + c];
    for (int d = 1; d < 32; d *= 2) {
      float other = __shfl_up_sync(~0u, v, d);
      if (lane >= d) v += other;
    }
    if (lane == 31) of_warp[warp] = v;
    __syncthreads();
    if (warp == 0) {
      float t = lane < blockDim.x / 32 ? of_warp[lane] : 0;
      for (int d = 1; d < 32; d *= 2) {
        float other = __shfl_up_sync(~0u, t, d);
        if (lane >= d) t += other;
      }
      of_warp[lane] = t;
    }
    __syncthreads();
    out[blockIdx.x * columns + c] = before + v + (warp ? of_warp[warp - 1] : 0);
    before += of_warp[blockDim.x / 32 - 1];
    __syncthreads();
  }
}
__global__ void sum_atomic(const float* in, float* out, int n) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
}
__global__ void axpy_double(const double* x, double* y, double a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void dot_bytes(const int* a, const int* b, int* out, int n) {
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum = __dp4a(a[i], b[i], sum);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
}
__global__ void half2_polynomial(const half2* in, half2* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  half2 x = in[i], v = x;
  for (int k = 0; k < 64; k++) v = __hfma2(v, x, __float2half2_rn(0.25f));
  out[i] = v;
}

// --- searches, sorts, tables -----------------------------------------------------------------
__global__ void bitonic_step(unsigned* keys, int distance, int size) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ distance;
  if (other < i) return;
  unsigned a = keys[i], b = keys[other];
  bool up = (i & size) == 0;
  keys[i] = up ? min(a, b) : max(a, b);
  keys[other] = up ? max(a, b) : min(a, b);
}
__global__ void lower_bound(const int* sorted, int size, const int* wanted, int* place, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int low = 0, high = size, key = wanted[i];
  while (low < high) {
    int middle = (low + high) / 2;
    if (sorted[middle] < key) low = middle + 1; else high = middle;
  }
  place[i] = low;
}
__global__ void hash_insert(unsigned* table, unsigned mask, const unsigned* keys, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned key = keys[i] | 1, slot = key * 2654435761u & mask;
  for (;;) {
    unsigned found = atomicCAS(&table[slot], 0u, key);
    if (found == 0 || found == key) return;
    slot = (slot + 1) & mask;
  }
}
__global__ void letters(const unsigned char* text, unsigned* counts, int n) {
  __shared__ unsigned mine[26];
  if (threadIdx.x < 26) mine[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned char c = text[i] | 32;
    if (c >= 'a' && c <= 'z') atomicAdd(&mine[c - 'a'], 1u);
  }
  __syncthreads();
  if (threadIdx.x < 26) atomicAdd(&counts[threadIdx.x], mine[threadIdx.x]);
}
__global__ void upper(const char* in, char* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  char c = in[i];
  out[i] = c >= 'a' && c <= 'z' ? c - 32 : c;
}
__global__ void kmeans(const float* points, const float* centres, int* nearest, int n, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float best = 1e30f;
  int which = 0;
  for (int c = 0; c < k; c++) {
    float distance = 0;
    for (int d = 0; d < 8; d++) {
      float t = points[d * n + i] - centres[c * 8 + d];
      distance += t * t;
    }
    if (distance < best) best = distance, which = c;
  }
  nearest[i] = which;
}
__global__ void random_walk(const int* next, int* out, int nodes, int steps) {
  unsigned state = blockIdx.x * blockDim.x + threadIdx.x, at = state % nodes;
  for (int s = 0; s < steps; s++) {
    state = state * 1664525u + 1013904223u;
    at = next[at * 8 + (state >> 29)];
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}
__global__ void bfs_level(const int* start, const int* edges, const int* frontier, int* distance, int n, int level) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int node = frontier[i];
  for (int e = start[node]; e < start[node + 1]; e++) distance[edges[e]] = level;
}

// --- arithmetic ------------------------------------------------------------------------------
__global__ void n_body(const float4* body, float4* force, int n) {
  __shared__ float4 tile[128];
  int i = blockIdx.x * 128 + threadIdx.x;
  float4 me = body[i];
  float fx = 0, fy = 0, fz = 0;
  for (int t = 0; t < n; t += 128) {
    tile[threadIdx.x] = body[t + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < 128; k++) {
      float dx = tile[k].x - me.x, dy = tile[k].y - me.y, dz = tile[k].z - me.z;
      float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), s = tile[k].w * r * r * r;
      fx += s * dx, fy += s * dy, fz += s * dz;
    }
    __syncthreads();
  }
  force[i] = make_float4(fx, fy, fz, 0);
}
__global__ void julia_double(int* out, int width, int height) {
  int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y, k = 0;
  double x = 3.0 * px / width - 1.5, y = 3.0 * py / height - 1.5;
  while (k < 100 && x * x + y * y < 4) {
    double t = x * x - y * y - 0.8;
    y = 2 * x * y + 0.156;
    x = t;
    k++;
  }
  out[py * width + px] = k;
}
__global__ void waves(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = sinf(6.0f * in[i]) * expf(-in[i]) + sqrtf(in[i]) / (1.0f + in[i]);
}
__global__ void pi_points(unsigned* inside, int trips) {
  unsigned state = (blockIdx.x * blockDim.x + threadIdx.x) * 747796405u + 2891336453u, hits = 0;
  for (int k = 0; k < trips; k++) {
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    float x = (state >> 8) * (1.0f / 16777216);
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    float y = (state >> 8) * (1.0f / 16777216);
    hits += x * x + y * y < 1;
  }
  atomicAdd(inside, hits);
}
__global__ void power_modulo(const unsigned* in, unsigned* out, unsigned modulus, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long base = in[i] % modulus, result = 1;
  for (unsigned e = 65537; e; e >>= 1) {
    if (e & 1) result = result * base % modulus;
    base = base * base % modulus;
  }
  out[i] = (unsigned)result;
}
__global__ void sum_async(const float4* in, float* out, int trips) {
  __shared__ float4 tile[3][256];
  const float4* mine = in + (size_t)blockIdx.x * trips * 256 + threadIdx.x;
  float sum = 0;
  for (int s = 0; s < 2; s++) {
    __pipeline_memcpy_async(&tile[s][threadIdx.x], mine + s * 256, 16);
    __pipeline_commit();
  }
  for (int t = 0; t < trips; t++) {
    if (t + 2 < trips) __pipeline_memcpy_async(&tile[(t + 2) % 3][threadIdx.x], mine + (t + 2) * 256, 16);
    __pipeline_commit();
    __pipeline_wait_prior(2);
    __syncthreads();
    float4 v = tile[t % 3][255 - threadIdx.x];
    sum += v.x + v.y + v.z + v.w;
    __syncthreads();
  }
  out[blockIdx.x * 256 + threadIdx.x] = sum;
}

int main(int argc, char** argv) {
  float *a = dfloat(16 * M), *b = dfloat(16 * M), *c = dalloc<float>(16 * M);
  double *da = dalloc<double>(8 * M), *db = dalloc<double>(8 * M);
  int *i0 = dints(16 * M, 1 << 28), *i1 = dalloc<int>(16 * M), *nodes = dints(8 * M, M), *columns = dints(2 * M, 65536);
  unsigned* table = dalloc<unsigned>(4 * M);
  half* halves = (half*)dints(2 * M, 0x3c00);
  CK(cudaMemcpyToSymbol(weights, std::vector<float>(49, 0.02f).data(), 49 * 4));
  // Rows of 8 to 24 entries, and of 32; keys in order.
  std::vector<int> start(M + 1, 0), even(M + 1, 0), keys(4 * M);
  for (int i = 0; i < M; i++) start[i + 1] = std::min(start[i] + 8 + (int)(lcg() >> 8) % 17, 2 * M), even[i + 1] = std::min(even[i] + 32, 2 * M);
  for (int i = 0; i < 4 * M; i++) keys[i] = 64 * i;
  int *csr = dalloc<int>(M + 1), *csr32 = dalloc<int>(M + 1), *sorted = dalloc<int>(4 * M);
  CK(cudaMemcpy(csr, start.data(), 4 * (M + 1), cudaMemcpyHostToDevice));
  CK(cudaMemcpy(csr32, even.data(), 4 * (M + 1), cudaMemcpyHostToDevice));
  CK(cudaMemcpy(sorted, keys.data(), 16 * M, cudaMemcpyHostToDevice));
  auto add = [&](std::string name, std::function<void()> run) { cases.push_back({name, run}); };
  add("heat_2d", [=] { heat_2d<<<dim3(128, 128), dim3(16, 16)>>>(a, c, 2048, 2048); });
  add("laplace_3d", [=] { laplace_3d<<<dim3(8, 32), dim3(32, 8)>>>(a, c, 256, 256, 128); });
  add("jacobi_double", [=] { jacobi_double<<<dim3(32, 256), dim3(32, 4)>>>(da, db, da + 4 * M, 1026, 1026); });
  add("sobel", [=] { sobel<<<dim3(256, 256), dim3(16, 16)>>>((unsigned char*)i0, (unsigned char*)i1, 4096, 4096); });
  add("life", [=] { life<<<dim3(64, 256), dim3(32, 8)>>>((unsigned char*)i1, (unsigned char*)c, 2048, 2048); });
  add("convolution_constant", [=] { convolution_constant<<<dim3(64, 256), dim3(32, 8)>>>(a, c, 2048, 2048); });
  add("blur_rows", [=] { blur_rows<<<dim3(8, 2048), 256>>>(a, c, 2048); });
  add("gray", [=] { gray<<<4 * M / 256, 256>>>((uchar3*)a, (unsigned char*)c, 4 * M); });
  add("csr_thread", [=] { csr_thread<<<65536 / 128, 128>>>(csr, columns, a, b, c, 65536); });
  add("csr_warp", [=] { csr_warp<<<65536 / 8, 256>>>(csr32, columns, a, b, c, 65536); });
  add("matvec_block", [=] { matvec_block<<<4096, 256>>>(a, b, c, 4096); });
  add("batched_products", [=] { batched_products<<<8192, dim3(16, 16)>>>(a, b, c); });
  add("product_double", [=] { product_double<<<dim3(32, 32), dim3(16, 16)>>>(da, db, da + 4 * M, 512); });
  add("wmma_plain", [=] { wmma_plain<<<512, 256>>>(halves, halves + M, c, 1024); });
  add("wmma_tiles", [=] { wmma_tiles<<<dim3(16, 16), 256>>>(halves, halves + M, c, 1024); });
  add("floyd_step", [=] { floyd_step<<<dim3(64, 256), dim3(32, 8)>>>(i0, i1, 2048, 777); });
  add("softmax_warp", [=] { softmax_warp<<<16384 / 8, 256>>>(a, c, 512); });
  add("prefix_rows", [=] { prefix_rows<<<2048, 256>>>(a, c, 2048); });
  add("sum_atomic", [=] { sum_atomic<<<1056, 256>>>(a, c, 16 * M); });
  add("axpy_double", [=] { axpy_double<<<4 * M / 256, 256>>>(da, db, 2.0, 4 * M); });
  add("dot_bytes", [=] { dot_bytes<<<528, 256>>>(i0, i0 + 8 * M, i1, 8 * M); });
  add("half2_polynomial", [=] { half2_polynomial<<<2 * M / 256, 256>>>((half2*)i0, (half2*)i1, 2 * M); });
  add("bitonic_far", [=] { bitonic_step<<<4 * M / 256, 256>>>((unsigned*)i0, 65536, 131072); });
  add("bitonic_near", [=] { bitonic_step<<<4 * M / 256, 256>>>((unsigned*)i0, 4, 131072); });
  add("lower_bound", [=] { lower_bound<<<M / 256, 256>>>(sorted, 4 * M, i0 + 8 * M, i1, M); });
  add("hash_insert", [=] { CK(cudaMemset(table, 0, 16 * M)); hash_insert<<<M / 256, 256>>>(table, 4 * M - 1, (unsigned*)i0 + 8 * M, M); });
  add("letters", [=] { letters<<<528, 256>>>((unsigned char*)a, (unsigned*)i1, 16 * M); });
  add("upper", [=] { upper<<<16 * M / 256, 256>>>((char*)a, (char*)c, 16 * M); });
  add("kmeans", [=] { kmeans<<<M / 256, 256>>>(a, b, i1, M, 16); });
  add("random_walk", [=] { random_walk<<<M / 8 / 256, 256>>>(nodes, i1, M, 32); });
  add("bfs_level", [=] { bfs_level<<<65536 / 256, 256>>>(csr32, nodes, columns, i1, 65536, 3); });
  add("n_body", [=] { n_body<<<128, 128>>>((float4*)a, (float4*)c, 16384); });
  add("julia_double", [=] { julia_double<<<dim3(32, 128), dim3(32, 8)>>>(i1, 1024, 1024); });
  add("waves", [=] { waves<<<4 * M / 256, 256>>>(a, c, 4 * M); });
  add("pi_points", [=] { pi_points<<<528, 256>>>((unsigned*)i1, 500); });
  add("power_modulo", [=] { power_modulo<<<M / 256, 256>>>((unsigned*)i0 + 8 * M, (unsigned*)i1, 1000000007u, M); });
  add("sum_async", [=] { sum_async<<<512, 256>>>((float4*)a, c, 32); });
  int repeats = argc > 2 ? atoi(argv[2]) : 1;
  for (auto& [name, run] : cases) {
    if (argc > 1 && strcmp(argv[1], "all") && name != argv[1]) continue;
    for (int r = 0; r < repeats; r++) run();
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());
    printf("case %s\n", name.c_str());
  }
}
