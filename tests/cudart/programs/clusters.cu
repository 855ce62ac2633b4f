// Clusters and tensor maps through the runtime: launches, attributes, occupancy; maps encoded, replaced and used.
#include <cooperative_groups.h>
#include <cuda.h>

#include <cstdint>
#include <vector>

#include "check.h"

namespace cg = cooperative_groups;

__global__ void plain(int *out) {
  if (threadIdx.x == 0) out[blockIdx.x] = cg::this_cluster().num_blocks() * 100 + cg::this_cluster().block_rank();
}
__global__ void __cluster_dims__(2, 1, 1) pairs(int *out) { out[blockIdx.x] = cg::this_cluster().block_rank(); }
__global__ void __cluster_dims__(16, 1, 1) sixteen(int *out) { out[blockIdx.x] = cg::this_cluster().block_rank(); }
__global__ void large(int *out) {
  extern __shared__ int s[];
  s[threadIdx.x] = 1;
  out[0] = s[threadIdx.x];
}
__global__ void sum(int *out) {
  atomicAdd(out, 1);
  cg::this_grid().sync();
  if (cg::this_grid().thread_rank() == 0) out[1] = out[0];
}
// Copies a box of a map (a parameter, or in global memory) and adds 1 to where it came from, by a store back.
__device__ void box(const CUtensorMap *map, int x, int y, int rows) {
  __shared__ alignas(1024) unsigned room[32 * 8];
  __shared__ alignas(8) unsigned long long barrier;
  unsigned s = (unsigned)__cvta_generic_to_shared(room), b = (unsigned)__cvta_generic_to_shared(&barrier), done = 0;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(b) : "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b), "r"(128 * rows) : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(s),
        "l"(map), "r"(b), "r"(x), "r"(y)
        : "memory");
  }
  __syncthreads();
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(b)
                 : "memory");
  for (int i = threadIdx.x; i < 32 * rows; i += blockDim.x) room[i] += 1;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%1, {%2, %3}], [%0];" ::"r"(s), "l"(map), "r"(x),
                 "r"(y)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;" ::: "memory");
  }
}
__global__ void by_parameter(const __grid_constant__ CUtensorMap map, int x, int y) { box(&map, x, y, 8); }
__global__ void by_address(const CUtensorMap *map, int x, int y) { box(map, x, y, 8); }
__constant__ CUtensorMap in_constant;
__global__ void by_constant(int x, int y) { box(&in_constant, x, y, 8); }

// A map is changed in shared memory, copied to global memory, and used from there.
__global__ void changed(const __grid_constant__ CUtensorMap map, CUtensorMap *there, unsigned *data) {
  __shared__ alignas(128) CUtensorMap here;
  unsigned s = (unsigned)__cvta_generic_to_shared(&here);
  if (threadIdx.x < 32) {
    ((unsigned *)&here)[threadIdx.x] = ((const unsigned *)&map)[threadIdx.x];
    __syncwarp();
    if (threadIdx.x == 0) {
#define FIELD(F) "tensormap.replace.tile." F ".shared::cta.b1024"
      asm volatile(FIELD("global_address") ".b64 [%0], %1;" ::"r"(s), "l"(data) : "memory");
      asm volatile(FIELD("rank") ".b32 [%0], 1;" ::"r"(s) : "memory");
      asm volatile(FIELD("elemtype") ".b32 [%0], 2;" ::"r"(s) : "memory");
      asm volatile(FIELD("global_dim") ".b32 [%0], 0, %1;" ::"r"(s), "r"(48) : "memory");
      asm volatile(FIELD("global_dim") ".b32 [%0], 1, %1;" ::"r"(s), "r"(20) : "memory");
      asm volatile(FIELD("global_stride") ".b64 [%0], 0, %1;" ::"r"(s), "l"(512ull) : "memory");
      asm volatile(FIELD("box_dim") ".b32 [%0], 1, %1;" ::"r"(s), "r"(4) : "memory");
      asm volatile(FIELD("element_stride") ".b32 [%0], 1, %1;" ::"r"(s), "r"(1) : "memory");
      asm volatile(FIELD("swizzle_mode") ".b32 [%0], 0;" ::"r"(s) : "memory");
      asm volatile(FIELD("fill_mode") ".b32 [%0], 0;" ::"r"(s) : "memory");
    }
    __syncwarp();
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;"
                 ::"l"(there), "r"(s) : "memory");
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(there) : "memory");
  }
  __syncthreads();
  box(there, 32, 18, 4);
}

template <class... A>
static cudaError_t launch(void (*kernel)(A...), unsigned grid, dim3 cluster, A... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = 32;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {cluster.x, cluster.y, cluster.z};
  config.attrs = &attribute;
  config.numAttrs = cluster.x != 0;
  cudaError_t error = cudaLaunchKernelEx(&config, kernel, arguments...);
  cudaGetLastError();
  return error;
}

static void clusters() {
  int *out, host[16];
  OK(cudaMalloc(&out, sizeof host));
  OK(launch(plain, 8, dim3(4), out));
  OK(cudaMemcpy(host, out, 32, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 8; i++) CHECK(host[i] == 400 + i % 4);
  GIVES(cudaErrorInvalidClusterSize, launch(plain, 5, dim3(2), out));
  GIVES(cudaErrorInvalidClusterSize, launch(plain, 16, dim3(16), out));
  GIVES(cudaErrorInvalidClusterSize, launch(plain, 6, dim3(1, 0, 0), out));
  GIVES(cudaErrorInvalidClusterSize, launch(pairs, 4, dim3(4), out));
  OK(launch(pairs, 4, dim3(0), out));
  OK(launch(pairs, 4, dim3(2), out));
  pairs<<<6, 32>>>(out);
  OK(cudaGetLastError());
  OK(cudaMemcpy(host, out, 24, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 6; i++) CHECK(host[i] == i % 2);
  pairs<<<5, 32>>>(out);
  GIVES(cudaErrorInvalidClusterSize, cudaGetLastError());
  GIVES(cudaErrorInvalidClusterSize, launch(sixteen, 16, dim3(0), out));
  OK(cudaFuncSetAttribute(sixteen, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  OK(launch(sixteen, 16, dim3(0), out));

  cudaFuncAttributes a;
  OK(cudaFuncGetAttributes(&a, pairs));
  CHECK(a.clusterDimMustBeSet == 1 && a.requiredClusterWidth == 2 && a.requiredClusterHeight == 1);
  OK(cudaFuncGetAttributes(&a, plain));
  CHECK(a.clusterDimMustBeSet == 0 && a.requiredClusterWidth == 0 && a.nonPortableClusterSizeAllowed == 0);

  cudaLaunchConfig_t config{};
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  config.gridDim = 160;
  config.blockDim = 1024;
  config.dynamicSmemBytes = 200 << 10;
  config.attrs = &attribute;
  config.numAttrs = 1;
  OK(cudaFuncSetAttribute(large, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 << 10));
  for (int size : {1, 2, 4, 8}) {  // as an H200 says
    int number = -1;
    attribute.val.clusterDim = {(unsigned)size, 1, 1};
    OK(cudaOccupancyMaxActiveClusters(&number, large, &config));
    CHECK(number == (size == 1 ? 132 : size == 2 ? 66 : size == 4 ? 30 : 15));
  }
  int size = 0;
  OK(cudaOccupancyMaxPotentialClusterSize(&size, large, &config));
  CHECK(size == 8);
  config.numAttrs = 0;
  OK(cudaOccupancyMaxActiveClusters(&size, large, &config));
}

static void cooperative() {
  int *out, host[2], most;
  OK(cudaMalloc(&out, 8));
  OK(cudaMemset(out, 0, 8));
  void *arguments[] = {&out};
  OK(cudaLaunchCooperativeKernel((void *)sum, 40, 64, arguments, 0, nullptr));
  OK(cudaMemcpy(host, out, 8, cudaMemcpyDeviceToHost));
  CHECK(host[0] == 40 * 64 && host[1] == host[0]);
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&most, sum, 1024, 0));
  GIVES(cudaErrorCooperativeLaunchTooLarge,
        cudaLaunchCooperativeKernel((void *)sum, most * 132 + 1, 1024, arguments, 0, nullptr));
}

using Tiled = decltype(&cuTensorMapEncodeTiled);

static void maps() {
  void *found = nullptr;
  cudaDriverEntryPointQueryResult result;
  OK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result));
  CHECK(result == cudaDriverEntryPointSuccess && found);
  Tiled encode = (Tiled)found;
  OK(cudaGetDriverEntryPointByVersion("cuNoSuchFunction", &found, 12000, cudaEnableDefault, &result));
  CHECK(result == cudaDriverEntryPointSymbolNotFound && !found);

  std::vector<unsigned> host(64 * 64);
  for (size_t i = 0; i < host.size(); i++) host[i] = i;
  unsigned *data, *other;
  OK(cudaMalloc(&data, host.size() * 4));
  OK(cudaMalloc(&other, host.size() * 4));
  OK(cudaMemcpy(data, host.data(), host.size() * 4, cudaMemcpyHostToDevice));
  OK(cudaMemcpy(other, host.data(), host.size() * 4, cudaMemcpyHostToDevice));
  CUtensorMap map;
  cuuint64_t dims[] = {64, 64}, strides[] = {256};
  cuuint32_t shape[] = {32, 8}, steps[] = {1, 1}, wide[] = {257, 8};
  auto make = [&](const cuuint32_t *shape) {
    return encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, data, dims, strides, shape, steps,
                  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  CHECK(make(wide) == CUDA_ERROR_INVALID_VALUE);
  CHECK(make(shape) == CUDA_SUCCESS);
  by_parameter<<<1, 64>>>(map, 16, 8);
  CUtensorMap *there;
  OK(cudaMalloc(&there, sizeof map));
  OK(cudaMemcpy(there, &map, sizeof map, cudaMemcpyHostToDevice));
  by_address<<<1, 64>>>(there, 40, 60);  // partly outside
  OK(cudaMemcpyToSymbol(in_constant, &map, sizeof map));
  by_constant<<<1, 64>>>(0, 24);
  OK(cudaDeviceSynchronize());
  std::vector<unsigned> back(host.size());
  OK(cudaMemcpy(back.data(), data, back.size() * 4, cudaMemcpyDeviceToHost));
  for (int y = 0; y < 64; y++)
    for (int x = 0; x < 64; x++) {
      bool in = (x >= 16 && x < 48 && y >= 8 && y < 16) || (x >= 40 && y >= 60) || (x < 32 && y >= 24 && y < 32);
      if (back[64 * y + x] != host[64 * y + x] + in) { CHECK(!"an element that should be another"); return; }
    }
  CHECK(cuTensorMapReplaceAddress(&map, other) == CUDA_SUCCESS);
  CHECK(cuTensorMapReplaceAddress(&map, (char *)other + 8) == CUDA_ERROR_INVALID_VALUE);
  by_parameter<<<1, 64>>>(map, 0, 0);
  OK(cudaMemcpy(back.data(), other, 4, cudaMemcpyDeviceToHost));
  CHECK(back[0] == 1);
}

// 64 rows of 128, of which the map has rows of 48 at twice the distance; the box starts at row 18 of 20.
static void changes() {
  unsigned *data, *other;
  OK(cudaMalloc(&data, 64 * 128 * 4));
  OK(cudaMalloc(&other, 64 * 64 * 4));
  OK(cudaMemset(data, 0, 64 * 128 * 4));
  CUtensorMap map, *there;
  OK(cudaMalloc(&there, sizeof map));
  cuuint64_t dims[] = {64, 64}, strides[] = {256};
  cuuint32_t shape[] = {32, 8}, steps[] = {1, 2};
  CHECK(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, other, dims, strides, shape, steps,
                               CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                               CU_TENSOR_MAP_L2_PROMOTION_NONE,
                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA) == CUDA_SUCCESS);
  changed<<<1, 64>>>(map, there, data);
  OK(cudaDeviceSynchronize());
  std::vector<unsigned> back(64 * 128);
  OK(cudaMemcpy(back.data(), data, back.size() * 4, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int y = 0; y < 64; y++)
    for (int x = 0; x < 128; x++) wrong += back[128 * y + x] != (y >= 18 && y < 20 && x >= 32 && x < 48);
  CHECK(wrong == 0);
}

int main() {
  clusters();
  cooperative();
  maps();
  changes();
  if (!failures) std::printf("all passed\n");
  return failures;
}
