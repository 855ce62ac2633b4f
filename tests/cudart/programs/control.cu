// Launches, attributes, streams, events, callbacks, the device, host threads.
#include "check.h"
#include <atomic>
#include <thread>
#include <vector>

extern "C" __global__ void iota(int* out, int first) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = first + i;
}
extern "C" __global__ void say(int n) { printf("kernel says %d\n", n); }
extern "C" __global__ void __launch_bounds__(128) bounded(char a, short b, int* c, char d) {
  __shared__ int all[256];
  all[threadIdx.x] = a + b;
  __syncthreads();
  c[threadIdx.x] = all[threadIdx.x ^ 1] + d;
}
extern "C" __global__ void many(double a, char b, int3 c, float4 d) { }

static void launches() {
  int* p;
  OK(cudaMalloc(&p, 4 << 20));
  iota<<<0, 32>>>(p, 0);
  GIVES(cudaErrorInvalidValue, cudaGetLastError());
  iota<<<1, 1025>>>(p, 0);
  GIVES(cudaErrorInvalidValue, cudaGetLastError());
  iota<<<dim3(1, 65536), 32>>>(p, 0);
  GIVES(cudaErrorInvalidValue, cudaPeekAtLastError());
  GIVES(cudaErrorInvalidValue, cudaGetLastError());
  bounded<<<1, 129>>>(1, 2, p, 3);
  GIVES(cudaErrorInvalidValue, cudaGetLastError());
  bounded<<<1, 128>>>(1, 2, p, 3);
  OK(cudaGetLastError());
  many<<<dim3(1, 2, 3), dim3(4, 5, 6), 100>>>(1.5, 'x', make_int3(1, 2, 3), make_float4(1, 2, 3, 4));
  OK(cudaGetLastError());
  bounded<<<1, 32, 48 * 1024>>>(1, 2, p, 3);  // static shared memory is there as well
  GIVES(cudaErrorInvalidValue, cudaGetLastError());
  OK(cudaFuncSetAttribute(iota, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
  iota<<<1, 32, 64 * 1024>>>(p, 0);
  OK(cudaGetLastError());
  GIVES(cudaErrorInvalidValue, cudaFuncSetAttribute(iota, cudaFuncAttributeMaxDynamicSharedMemorySize, 300 * 1024));
  GIVES(cudaErrorInvalidValue, cudaFuncSetAttribute(iota, cudaFuncAttributeMaxDynamicSharedMemorySize, -1));
  int first = 5;
  void* args[] = {&p, &first};
  OK(cudaLaunchKernel((void*)iota, 1, 8, args, 0, 0));
  OK(cudaLaunchCooperativeKernel((void*)iota, 264, 1024, args, 0, 0));
  GIVES(cudaErrorCooperativeLaunchTooLarge, cudaLaunchCooperativeKernel((void*)iota, 265, 1024, args, 0, 0));
  cudaLaunchConfig_t config = {};
  config.gridDim = 1;
  config.blockDim = 16;
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {2, 1, 1};
  config.attrs = &attribute;
  config.numAttrs = 1;
  config.gridDim = 2;
  OK(cudaLaunchKernelEx(&config, iota, p, 9));
  GIVES(cudaErrorInvalidResourceHandle, cudaLaunchKernel((void*)&first, 1, 8, args, 0, 0));
#ifndef CARD  // the card's runtime reads through a handle
  GIVES(cudaErrorInvalidResourceHandle, cudaLaunchKernel((void*)iota, 1, 8, args, 0, (cudaStream_t)&first));
#endif
  cudaKernel_t kernel;
  OK(cudaGetKernel(&kernel, (const void*)iota));
  OK(cudaLaunchKernel((const void*)kernel, 1, 8, args, 0, 0));
  OK(cudaFree(p));
  cudaGetLastError();
}

static void functions() {
  cudaFuncAttributes a;
  OK(cudaFuncGetAttributes(&a, bounded));
  CHECK(a.numRegs > 0 && a.sharedSizeBytes == 1024 && a.localSizeBytes == 0 && a.maxThreadsPerBlock == 128);
  CHECK(a.ptxVersion == 90 && a.maxDynamicSharedSizeBytes == 48 * 1024 - 1024);
  GIVES(cudaErrorInvalidResourceHandle, cudaFuncGetAttributes(&a, (const void*)&a));
  size_t offset, size;
  OK(cudaFuncGetParamInfo((const void*)bounded, 2, &offset, &size));
  CHECK(offset == 8 && size == 8);
  GIVES(cudaErrorInvalidValue, cudaFuncGetParamInfo((const void*)bounded, 4, &offset, &size));
  const char* name;
  OK(cudaFuncGetName(&name, (const void*)bounded));
  CHECK(!strcmp(name, "bounded"));
  int blocks, best, least;
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, iota, 256, 0));
  CHECK(blocks == 8);
  OK(cudaOccupancyMaxPotentialBlockSize(&least, &best, iota));
  CHECK(best == 1024 && least == 2 * 132);
  OK(cudaOccupancyAvailableDynamicSMemPerBlock(&size, (const void*)iota, 8, 256));
  CHECK(size == 233472 / 8);
  cudaGetLastError();
}

static void streams() {
  cudaStream_t stream, urgent;
  unsigned flags;
  int priority, least, greatest;
  OK(cudaStreamCreate(&stream));
  OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  OK(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, greatest));
  OK(cudaStreamGetFlags(urgent, &flags));
  OK(cudaStreamGetPriority(urgent, &priority));
  CHECK(flags == cudaStreamNonBlocking && priority == greatest);
  say<<<1, 1, 0, urgent>>>(1);
  OK(cudaStreamQuery(stream));
  OK(cudaStreamSynchronize(urgent));
  OK(cudaStreamSynchronize(cudaStreamPerThread));
  cudaStreamCaptureStatus status;
  OK(cudaStreamIsCapturing(stream, &status));
  CHECK(status == cudaStreamCaptureStatusNone);
  OK(cudaStreamDestroy(stream));
#ifndef CARD
  GIVES(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(stream));
  GIVES(cudaErrorInvalidResourceHandle, cudaStreamDestroy(stream));
#endif
  OK(cudaStreamDestroy(urgent));
  cudaGetLastError();
}

static void events() {
  cudaEvent_t start, end, silent;
  float ms = -1, again = -1;
  int* p;
  OK(cudaMalloc(&p, 4096));
  OK(cudaEventCreate(&start));
  OK(cudaEventCreate(&end));
  OK(cudaEventCreateWithFlags(&silent, cudaEventDisableTiming));
  OK(cudaEventRecord(start));
  GIVES(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, start, end));
  iota<<<1, 1000>>>(p, 0);
  OK(cudaEventRecord(end, 0));
  OK(cudaEventSynchronize(end));
  OK(cudaEventQuery(end));
  OK(cudaStreamWaitEvent(0, end, 0));
  OK(cudaEventElapsedTime(&ms, start, end));
  CHECK(ms > 0 && ms < 1);
  OK(cudaEventRecord(start));
  iota<<<1, 1000>>>(p, 0);
  OK(cudaEventRecord(end));
  OK(cudaDeviceSynchronize());
  OK(cudaEventElapsedTime(&again, start, end));
#ifndef CARD
  CHECK(ms == again);
#endif
  OK(cudaEventRecord(silent));
  GIVES(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, start, silent));
  OK(cudaEventDestroy(start));
#ifndef CARD
  GIVES(cudaErrorInvalidResourceHandle, cudaEventRecord(start));
#endif
  OK(cudaFree(p));
  cudaGetLastError();
}

static std::atomic<int> order{0};
static void CUDART_CB in_stream(void* data) { *(int*)data = ++order; }
static void CUDART_CB old_style(cudaStream_t, cudaError_t status, void* data) { *(int*)data = status ? -1 : ++order; }

static void callbacks() {
  int first = 0, second = 0, third = 0;
  OK(cudaLaunchHostFunc(0, in_stream, &first));
  OK(cudaStreamAddCallback(0, old_style, &second, 0));
  OK(cudaLaunchHostFunc(0, in_stream, &third));
  OK(cudaDeviceSynchronize());
  CHECK(first == 1 && second == 2 && third == 3);
}

static void device() {
  int n, value;
  cudaDeviceProp prop;
  char id[32];
  size_t limit;
  OK(cudaGetDeviceCount(&n));
  CHECK(n == 1);
  OK(cudaSetDevice(0));
  GIVES(cudaErrorInvalidDevice, cudaSetDevice(1));
  OK(cudaGetDevice(&n));
  CHECK(n == 0);
  OK(cudaGetDeviceProperties(&prop, 0));
  CHECK(!strcmp(prop.name, "NVIDIA H200") && prop.major == 9 && prop.multiProcessorCount == 132);
  CHECK(prop.maxThreadsDim[2] == 64 && prop.maxGridSize[0] == 2147483647 && prop.totalGlobalMem >= (size_t)1 << 30);
  CHECK(prop.sharedMemPerBlockOptin == 232448 && prop.warpSize == 32);
  GIVES(cudaErrorInvalidDevice, cudaGetDeviceProperties(&prop, 1));
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0));
  CHECK(value == 9);
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrClockRate, 0));
  CHECK(value == 1980000);
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxGridDimY, 0));
  CHECK(value == 65535);
  OK(cudaDeviceGetPCIBusId(id, sizeof id, 0));
  OK(cudaDeviceGetByPCIBusId(&n, id));
  OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 32 << 20));
  OK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
  CHECK(limit == 32 << 20);
  GIVES(cudaErrorUnsupportedLimit, cudaDeviceSetLimit(cudaLimitDevRuntimeSyncDepth, 1));
  OK(cudaDriverGetVersion(&value));
  CHECK(value >= 13000);
  OK(cudaRuntimeGetVersion(&value));
  CHECK(value / 1000 == 13);
  OK(cudaDeviceCanAccessPeer(&value, 0, 0));
  CHECK(value == 0);
  CHECK(!strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress"));
  CHECK(!strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory"));
  CHECK(!strcmp(cudaGetErrorString((cudaError_t)12345), "unrecognized error code"));
  cudaGetLastError();
}

static void threads() {
  std::vector<std::thread> all;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; t++)
    all.emplace_back([t, &wrong] {
      int *p, host[32];
      for (int round = 0; round < 25; round++) {
        if (cudaMalloc(&p, sizeof host) != cudaSuccess) wrong++;
        if (t == 0) cudaSetDevice(7);  // an error of this thread alone
        else if (cudaPeekAtLastError() != cudaSuccess) wrong++;
        iota<<<1, 32>>>(p, 1000 * t + round);
        cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost);
        if (host[31] != 1000 * t + round + 31) wrong++;
        cudaFree(p);
      }
      if (t == 0 && cudaGetLastError() != cudaErrorInvalidDevice) wrong++;
    });
  for (auto& thread : all) thread.join();
  CHECK(wrong == 0);
}

static void unsupported() {
  cudaMipmappedArray_t array;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  GIVES(cudaErrorNotSupported, cudaMallocMipmappedArray(&array, &format, make_cudaExtent(16, 16, 0), 2));
  GIVES(cudaErrorNotSupported, cudaIpcGetMemHandle(nullptr, nullptr));
  cudaGetLastError();
}

int main() {
  launches();
  functions();
  streams();
  events();
  callbacks();
  device();
  threads();
#ifndef CARD
  unsupported();
#endif
  if (!failures) std::puts("all passed");
  return failures;
}
