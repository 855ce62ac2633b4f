// Irregular kernels: work that differs from lane to lane, in loops within loops, with early ends.
#include "common.h"

typedef unsigned int u32;
#define I (blockIdx.x * blockDim.x + threadIdx.x)

__global__ void triangle_count(const int* rows, const int* columns, int* counts, int n) {
  int u = I;
  if (u >= n) return;
  int found = 0;
  for (int i = rows[u]; i < rows[u + 1]; i++) {
    int v = columns[i], a = rows[u], b = rows[v];
    while (a < rows[u + 1] && b < rows[v + 1]) {
      int x = columns[a], y = columns[b];
      found += x == y;
      a += x <= y;
      b += y <= x;
    }
  }
  counts[u] = found;
}
__global__ void hash_probe(const u32* keys, const u32* table, int* out, int n, int size) {
  int i = I;
  if (i >= n) return;
  u32 key = keys[i], slot = key * 2654435761u % size;
  int steps = 0;
  while (table[slot] != key && table[slot] % 7 != 0 && steps < 40) { slot = (slot + 1) % size; steps++; }
  out[i] = steps;
}
__global__ void pagerank_pull(const int* rows, const int* columns, const float* rank, float* next, int n) {
  for (int v = I; v < n; v += gridDim.x * blockDim.x) {
    float sum = 0;
    for (int k = rows[v]; k < rows[v + 1]; k++) {
      int u = columns[k];
      sum += rank[u] / (rows[u + 1] - rows[u] + 1);
    }
    next[v] = 0.15f + 0.85f * sum;
  }
}
__global__ void ell_mixed(const int* length, const int* columns, const double* values, const double* x, double* y, int n) {
  int row = I;
  if (row >= n) return;
  double sum = 0;
  int m = length[row];
  for (int k = 0; k < m; k++) sum += values[k * n + row] * x[columns[k * n + row]];
  y[row] = sum;
}
__global__ void shared_walk(const int* start, const float* in, float* out, int steps) {
  __shared__ float s[256];
  s[threadIdx.x] = in[I];
  __syncthreads();
  int at = start[I] & 255;
  float sum = 0;
  int n = (start[I] >> 3) % steps;
  for (int k = 0; k < n; k++) { sum += s[at]; at = (at * 5 + k) & 255; }
  out[I] = sum;
}
__global__ void insertion_sort_rows(int* data, int n) {
  int* row = data + I * n;
  for (int i = 1; i < n; i++) {
    int x = row[i], j = i - 1;
    for (; j >= 0 && row[j] > x; j--) row[j + 1] = row[j];
    row[j + 1] = x;
  }
}
__global__ void count_words(const unsigned char* text, int* counts, int n, int piece) {
  int from = I * piece, to = min(from + piece, n), words = 0;
  bool inside = false;
  for (int i = from; i < to; i++) {
    bool letter = text[i] > 64;
    if (letter && !inside) words++;
    inside = letter;
  }
  counts[I] = words;
}
__global__ void ray_march(const float* field, float* out, int w, int limit) {
  int x = I, y = blockIdx.y;
  if (x >= w) return;
  float t = 0;
  for (int k = 0; k < limit; k++) {
    int cx = (x + (int)(t * 3)) % w, cy = (y + (int)(t * 5)) % w;
    float d = field[cy * w + cx];
    if (d > 0.8f) break;
    t += d + 0.1f;
  }
  out[y * w + x] = t;
}
__global__ void histogram_runs(const int* runs, const int* values, int* bins, int n) {
  __shared__ int local[64];
  if (threadIdx.x < 64) local[threadIdx.x] = 0;
  __syncthreads();
  int i = I;
  if (i < n)
    for (int k = 0; k < runs[i] % 9; k++) atomicAdd(&local[(values[i] + k * k) & 63], k + 1);
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(bins + threadIdx.x, local[threadIdx.x]);
}
__global__ void warp_queue(const int* work, float* out, int n) {
  int lane = threadIdx.x % 32, warp = I / 32;
  for (int item = warp; item < n; item += gridDim.x * blockDim.x / 32) {
    int size = work[item] % 200;
    float sum = 0;
    for (int k = lane; k < size; k += 32) sum += out[4096 + k];
    for (int d = 16; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0) out[item] = sum;
  }
}
__global__ void levels(const int* parent, int* depth, int n) {
  int i = I;
  if (i >= n) return;
  int d = 0, at = i;
  while (parent[at] < at) { at = parent[at]; d++; }
  depth[i] = d;
}
__global__ void newton(const float* in, float* out, int n) {
  int i = I;
  if (i >= n) return;
  float x = in[i] * 40.0f, y = x;
  int k = 0;
  do { float next = 0.5f * (y + x * __frcp_rn(y + 0.001f)); if (fabsf(next - y) < 0.01f) break; y = next; } while (++k < 30);
  out[i] = y;
  out[n + i] = k;
}
__global__ void masks(const u32* bits, const float* values, float* out, int n) {
  int i = I;
  if (i >= n) return;
  float sum = 0;
  for (u32 m = bits[i]; m; m &= m - 1) sum += values[__ffs(m) - 1 + (i & ~31)];
  out[i] = sum;
}
__global__ void blocked_rows(const float4* in, float4* out, const int* lengths, int pitch) {
  const float4* row = in + blockIdx.x * pitch;
  int n = lengths[blockIdx.x] % pitch;
  float4 best = make_float4(0, 0, 0, 0);
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    float4 v = row[i];
    if (v.x + v.y > 0.9f) best = make_float4(fmaxf(best.x, v.x), fmaxf(best.y, v.y), fmaxf(best.z, v.z), fmaxf(best.w, v.w));
    else if (v.z > 0.5f) out[blockIdx.x * pitch + i] = v;
  }
  out[gridDim.x * pitch + blockIdx.x * blockDim.x + threadIdx.x] = best;
}

#define CASE(NAME, ...) cases.push_back({NAME, [=] { __VA_ARGS__; }})
static int* upload(const std::vector<int>& h) {
  int* d = dalloc<int>(h.size());
  CK(cudaMemcpy(d, h.data(), h.size() * 4, cudaMemcpyHostToDevice));
  return d;
}
int main(int argc, char** argv) {
  const int N = 1500;
  std::vector<int> rows(N + 1), columns, parent(4096);
  for (int i = 0; i < N; i++) {
    rows[i] = columns.size();
    int c = lcg() >> 26;
    for (int k = lcg() >> 28; k; k--) columns.push_back((c += 1 + (lcg() >> 24)) % N);
  }
  rows[N] = columns.size();
  for (int i = 0; i < 4096; i++) parent[i] = i ? (int)((lcg() >> 8) % i) : 0;
  int *r = upload(rows), *c = upload(columns), *up = upload(parent), *w = dalloc<int>(1 << 16), *row_data = dints(1 << 13, 1000);
  int *v = dints(1 << 16, 1 << 30), *small = dints(1 << 16, 20), *index = dints(1 << 16, N);
  float *f = dfloat(1 << 16), *o = dalloc<float>(1 << 16);
  double *da = dalloc<double>(1 << 16), *db = dalloc<double>(1 << 16);
  CASE("triangle_count", triangle_count<<<12, 128>>>(r, c, w, N));
  CASE("hash_probe", hash_probe<<<8, 128>>>((u32*)v, (u32*)v + 9000, w, 1000, 5000));
  CASE("pagerank_pull", pagerank_pull<<<5, 128>>>(r, c, f, o, N));
  CASE("ell_mixed", ell_mixed<<<12, 128>>>(small, index, da, db, da + 30000, N));
  CASE("shared_walk", shared_walk<<<4, 256>>>(v, f, o, 23));
  CASE("insertion_sort_rows", insertion_sort_rows<<<4, 64>>>(row_data, 17));
  CASE("count_words", count_words<<<4, 128>>>((unsigned char*)v, w, 20000, 41));
  CASE("ray_march", ray_march<<<dim3(2, 20), 64>>>(f, o, 100, 25));
  CASE("histogram_runs", histogram_runs<<<4, 128>>>(small, v, w, 500));
  CASE("warp_queue", warp_queue<<<4, 128>>>(v, o, 77));
  CASE("levels", levels<<<16, 128>>>(up, w, 2000));
  CASE("newton", newton<<<8, 128>>>(f, o, 1000));
  CASE("masks", masks<<<8, 128>>>((u32*)v, f, o, 1000));
  CASE("blocked_rows", blocked_rows<<<7, 64>>>((float4*)f, (float4*)o, v, 300));
  return run_all(argc, argv);
}
