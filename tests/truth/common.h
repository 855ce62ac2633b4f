// Shared by the ground-truth programs: a table of launches, run once each.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cstdint>
#include <vector>
#include <string>
#include <algorithm>
#include <functional>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
struct Case { std::string name; std::function<void()> launch; };
static std::vector<Case> cases;
static uint32_t lcg_state = 12345u;
static inline uint32_t lcg() { lcg_state = lcg_state * 1664525u + 1013904223u; return lcg_state; }
template <class T> T* dalloc(size_t n) { T* p; CK(cudaMalloc(&p, n * sizeof(T))); CK(cudaMemset(p, 0, n * sizeof(T))); return p; }
static float* dfloat(size_t n) { std::vector<float> h(n); for (auto& v : h) v = (lcg() >> 8) * (1.0f / 16777216.0f); float* p = dalloc<float>(n); CK(cudaMemcpy(p, h.data(), n * 4, cudaMemcpyHostToDevice)); return p; }
static int* dints(size_t n, int mod) { std::vector<int> h(n); for (auto& v : h) v = (int)((lcg() >> 8) % (uint32_t)mod); int* p = dalloc<int>(n); CK(cudaMemcpy(p, h.data(), n * 4, cudaMemcpyHostToDevice)); return p; }
// Launches every case once, or only those that the arguments name.
static int run_all(int argc, char** argv) {
  for (auto& c : cases) {
    bool wanted = argc < 2;
    for (int i = 1; i < argc; i++) wanted = wanted || c.name == argv[i];
    if (!wanted) continue;
    c.launch();
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());
    printf("case %s\n", c.name.c_str());
  }
  return 0;
}
