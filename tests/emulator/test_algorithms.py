"""Whole algorithms with the control flow of real programs, compared with Python."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise

SOURCE = """
__global__ void scan(int* o, int n) {
  __shared__ int s[2][256];
  int t = threadIdx.x, p = 0;
  s[0][t] = t < n ? t + 1 : 0;
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    s[1 - p][t] = s[p][t] + (t >= d ? s[p][t - d] : 0);
    p = 1 - p;
    __syncthreads();
  }
  o[t] = s[p][t];
}
__global__ void bitonic(int* a) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  for (int k = 2; k <= 256; k *= 2)
    for (int j = k / 2; j > 0; j /= 2) {
      int i = t ^ j;
      if (i > t)
        if (((t & k) == 0) == (s[t] > s[i])) { int v = s[t]; s[t] = s[i]; s[i] = v; }
      __syncthreads();
    }
  a[t] = s[t];
}
__global__ void transpose(const float* a, float* b, int w, int h) {
  __shared__ float s[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < w && y < h) s[threadIdx.y][threadIdx.x] = a[y * w + x];
  __syncthreads();
  x = blockIdx.y * 16 + threadIdx.x; y = blockIdx.x * 16 + threadIdx.y;
  if (x < h && y < w) b[y * h + x] = s[threadIdx.x][threadIdx.y];
}
__global__ void collatz(unsigned* o) {
  unsigned long long v = blockIdx.x * blockDim.x + threadIdx.x + 1;
  unsigned n = 0;
  while (v != 1) { v = v & 1 ? 3 * v + 1 : v / 2; n++; }
  o[blockIdx.x * blockDim.x + threadIdx.x] = n;
}
__global__ void breadth_first(const int* rows, const int* columns, int* depth, int* changed, int n, int level) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && depth[i] == level)
    for (int e = rows[i]; e < rows[i + 1]; e++)
      if (depth[columns[e]] < 0) { depth[columns[e]] = level + 1; *changed = 1; }
}
__global__ void quicksort(int* a, int n) {  // a row a thread, with a stack in local memory
  int stack[64], top = 0, *row = a + threadIdx.x * n;
  stack[top++] = 0; stack[top++] = n - 1;
  while (top) {
    int high = stack[--top], low = stack[--top];
    if (low >= high) continue;
    int pivot = row[high], i = low;
    for (int j = low; j < high; j++)
      if (row[j] < pivot) { int v = row[i]; row[i] = row[j]; row[j] = v; i++; }
    int v = row[i]; row[i] = row[high]; row[high] = v;
    stack[top++] = low; stack[top++] = i - 1;
    stack[top++] = i + 1; stack[top++] = high;
  }
}
__global__ void words(const char* text, int* o, int n) {
  int t = threadIdx.x, found = 0;
  bool inside = false;
  for (int i = t * n; i < t * n + n; i++) {
    char c = text[i];
    if (c == '.') break;
    if (c == ' ') { inside = false; continue; }
    if (!inside) found++;
    inside = true;
  }
  o[t] = found;
}
"""
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def module() -> lanewise.Module:
    return lanewise.compile(SOURCE)


def ints(n: int) -> np.ndarray:
    return np.zeros(n, np.int32)


def test_scan(module: lanewise.Module) -> None:
    o, t = ints(256), np.arange(256)
    module["scan"][1, 256](o, np.int32(100))
    assert np.array_equal(o, np.cumsum(np.where(t < 100, t + 1, 0)))


def test_bitonic_sort(module: lanewise.Module) -> None:
    a = RNG.integers(-999, 999, 256).astype(np.int32)
    expected = np.sort(a)
    module["bitonic"][1, 256](a)
    assert np.array_equal(a, expected)


def test_transpose_with_ragged_edges(module: lanewise.Module) -> None:
    a, b = RNG.random((37, 53)).astype(np.float32), np.zeros((53, 37), np.float32)
    module["transpose"][(4, 3), (16, 16)](a, b, np.int32(53), np.int32(37))
    assert np.array_equal(b, a.T)


def test_collatz(module: lanewise.Module) -> None:
    def steps(v: int) -> int:
        n = 0
        while v != 1:
            v, n = (3 * v + 1 if v & 1 else v // 2), n + 1
        return n

    o = np.zeros(300, np.uint32)
    module["collatz"][3, 100](o)
    assert o.tolist() == [steps(i + 1) for i in range(300)]


def test_breadth_first_search(module: lanewise.Module) -> None:
    n = 200
    degree = RNG.integers(0, 6, n)
    rows = np.concatenate([[0], np.cumsum(degree)]).astype(np.int32)
    columns = RNG.integers(0, n, rows[-1]).astype(np.int32)
    depth = np.full(n, -1, np.int32)
    depth[0] = 0
    for level in range(n):
        changed = ints(1)
        module["breadth_first"][2, 128](rows, columns, depth, changed, np.int32(n), np.int32(level))
        if not changed[0]:
            break
    expected, front = {0: 0}, [0]
    while front:
        later = []
        for u in front:
            for v in columns[rows[u] : rows[u + 1]].tolist():
                if v not in expected:
                    expected[v] = expected[u] + 1
                    later.append(v)
        front = later
    assert depth.tolist() == [expected.get(i, -1) for i in range(n)]


def test_quicksort_of_rows(module: lanewise.Module) -> None:
    a = RNG.integers(0, 1000, (40, 30)).astype(np.int32)
    expected = np.sort(a, axis=1)
    module["quicksort"][1, 40](a, np.int32(30))
    assert np.array_equal(a, expected)


def test_words_of_a_text(module: lanewise.Module) -> None:
    text = bytes(RNG.choice(list(b"ab  c."), p=[0.3, 0.2, 0.2, 0.1, 0.15, 0.05], size=640).astype(np.uint8))
    o = ints(32)
    module["words"][1, 32](np.frombuffer(text, np.uint8).copy(), o, np.int32(20))
    assert o.tolist() == [len(text[20 * t : 20 * t + 20].split(b".")[0].split()) for t in range(32)]
