// Each program is a list of checks; it prints those that fail and exits with their number.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

inline int failures = 0;

#define CHECK(condition) \
  do { \
    if (!(condition)) { failures++; std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); } \
  } while (0)

#define GIVES(error, call) \
  do { \
    cudaError_t got = (call); \
    if (got != (error)) { \
      failures++; \
      std::printf("%s:%d: %s gives %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(got)); \
    } \
  } while (0)

#define OK(call) GIVES(cudaSuccess, call)
