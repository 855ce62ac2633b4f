// Memory of every kind, copies in every direction, variables, registered memory.
#include "check.h"
#include <vector>

struct Mixed { int a; double b; char c; };
__constant__ float scale = 1;
__device__ double total;
__managed__ int counters[4] = {1, 2, 3, 4};
extern "C" __global__ void iota(int* out, int first) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = first + i;
}
extern "C" __global__ void add_scale(Mixed s) { total += scale * s.b + s.a; }
extern "C" __global__ void double_managed() { counters[threadIdx.x] *= 2; }

static void plain() {
  int *a, *b, host[64];
  OK(cudaMalloc(&a, sizeof host));
  OK(cudaMalloc(&b, sizeof host));
  iota<<<2, 32>>>(a, 100);
  OK(cudaGetLastError());
  OK(cudaMemcpy(b, a, sizeof host, cudaMemcpyDeviceToDevice));
  OK(cudaMemcpy(host, b, sizeof host, cudaMemcpyDeviceToHost));
  CHECK(host[0] == 100 && host[63] == 163);
  OK(cudaMemset(a, 0xff, 8));
  OK(cudaMemcpyAsync(host, a, 12, cudaMemcpyDefault, 0));
  CHECK(host[1] == -1 && host[2] == 102);
  OK(cudaMemcpy(a + 60, host, 16, cudaMemcpyHostToDevice));
  GIVES(cudaErrorInvalidValue, cudaMemcpy(a + 60, host, 17, cudaMemcpyHostToDevice));
  GIVES(cudaErrorInvalidValue, cudaMemcpy(host, host + 8, 4, cudaMemcpyDeviceToHost));
  GIVES(cudaErrorInvalidValue, cudaMemcpy(host, host + 8, 4, cudaMemcpyHostToDevice));
  OK(cudaMemcpy(a, b, 4, cudaMemcpyHostToDevice));  // the card takes this too
  GIVES(cudaErrorInvalidMemcpyDirection, cudaMemcpy(a, b, 4, (cudaMemcpyKind)9));
  GIVES(cudaErrorInvalidValue, cudaMemset(host, 0, 4));
  GIVES(cudaErrorInvalidValue, cudaGetLastError());
  OK(cudaGetLastError());
  OK(cudaMemcpy(a, host, 0, cudaMemcpyHostToDevice));
  OK(cudaFree(a));
  GIVES(cudaErrorInvalidValue, cudaFree(a));
  GIVES(cudaErrorInvalidValue, cudaFree(b + 1));
  OK(cudaFree(b));
  OK(cudaFree(nullptr));
  OK(cudaMalloc(&a, 0));
  CHECK(a == nullptr);
  GIVES(cudaErrorMemoryAllocation, cudaMalloc(&a, (size_t)1 << 50));
  GIVES(cudaErrorMemoryAllocation, cudaPeekAtLastError());
  cudaGetLastError();
}

static void info() {
  size_t before, after, total_bytes;
  void* p;
  OK(cudaMemGetInfo(&before, &total_bytes));
  OK(cudaMalloc(&p, 1 << 20));
  OK(cudaMemGetInfo(&after, &total_bytes));
  CHECK(total_bytes >= 1 << 30 && before > after);
#ifndef CARD  // where pools and pages of 2 MiB are
  CHECK(before - after == 1 << 20);
#endif
  OK(cudaFree(p));
  OK(cudaMallocAsync(&p, 1 << 20, 0));
  OK(cudaFreeAsync(p, 0));
  OK(cudaMemGetInfo(&after, &total_bytes));
#ifndef CARD
  CHECK(before == after);
#endif
}

static void blocks() {
  char *p, host[16][20], back[16][20];
  size_t pitch;
  for (int y = 0; y < 16; y++)
    for (int x = 0; x < 20; x++) host[y][x] = (char)(20 * y + x);
  OK(cudaMallocPitch(&p, &pitch, 20, 16));
  CHECK(pitch == 512);
  OK(cudaMemcpy2D(p, pitch, host, 20, 20, 16, cudaMemcpyHostToDevice));
  OK(cudaMemcpy2D(back, 20, p, pitch, 20, 16, cudaMemcpyDeviceToHost));
  CHECK(!memcmp(host, back, sizeof host));
  OK(cudaMemset2D(p + 2, pitch, 7, 3, 16));
  OK(cudaMemcpy(back, p + 15 * pitch, 20, cudaMemcpyDeviceToHost));
  CHECK(back[0][1] == host[15][1] && back[0][2] == 7 && back[0][4] == 7 && back[0][5] == host[15][5]);
  GIVES(cudaErrorInvalidPitchValue, cudaMemcpy2D(p, 10, host, 20, 20, 16, cudaMemcpyHostToDevice));
  GIVES(cudaErrorInvalidValue, cudaMemcpy2D(p, pitch, host, 20, 20, 17, cudaMemcpyHostToDevice));
  OK(cudaFree(p));

  cudaPitchedPtr box;
  cudaExtent extent = make_cudaExtent(20, 4, 4);
  OK(cudaMalloc3D(&box, extent));
  cudaMemcpy3DParms parms = {};
  parms.srcPtr = make_cudaPitchedPtr(host, 20, 20, 4);
  parms.dstPtr = box;
  parms.extent = extent;
  parms.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&parms));
  parms = {};
  parms.srcPtr = box;
  parms.srcPos = make_cudaPos(3, 1, 2);
  parms.dstPtr = make_cudaPitchedPtr(back, 20, 20, 4);
  parms.extent = make_cudaExtent(5, 2, 2);
  parms.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3D(&parms));
  CHECK(back[0][0] == host[9][3] && back[1][4] == host[10][7] && back[4][0] == host[13][3]);
  OK(cudaMemset3D(box, 1, extent));
  OK(cudaMemcpy(back, (char*)box.ptr + 15 * box.pitch + 19, 1, cudaMemcpyDeviceToHost));
  CHECK(back[0][0] == 1);
  OK(cudaFree(box.ptr));
}

static void symbols() {
  float two = 2;
  double result = -1;
  void* address;
  size_t size;
  OK(cudaMemcpyToSymbol(scale, &two, sizeof two));
  OK(cudaMemcpyFromSymbol(&two, scale, sizeof two));
  CHECK(two == 2);
  add_scale<<<1, 1>>>(Mixed{5, 1.5, 'x'});
  OK(cudaMemcpyFromSymbol(&result, total, sizeof result));
  CHECK(result == 8);
  OK(cudaGetSymbolAddress(&address, total));
  OK(cudaGetSymbolSize(&size, total));
  CHECK(size == sizeof(double));
  OK(cudaMemcpy(&result, address, sizeof result, cudaMemcpyDeviceToHost));
  CHECK(result == 8);
  GIVES(cudaErrorInvalidValue, cudaMemcpyToSymbol(scale, &two, sizeof two, 1));
  GIVES(cudaErrorInvalidSymbol, cudaGetSymbolSize(&size, (const void*)&two));
  GIVES(cudaErrorInvalidValue, cudaFree(address));
  cudaGetLastError();
}

static void managed() {
  int* p;
  CHECK(counters[0] == 1 && counters[3] == 4);
  counters[1] = 20;
  double_managed<<<1, 4>>>();
  OK(cudaDeviceSynchronize());
  CHECK(counters[0] == 2 && counters[1] == 40);
  OK(cudaMallocManaged(&p, 64 * sizeof(int)));
  iota<<<2, 32>>>(p, 7);
  OK(cudaDeviceSynchronize());
  CHECK(p[0] == 7 && p[63] == 70);
  p[5] = 1;
  int one;
  OK(cudaMemcpy(&one, p + 5, 4, cudaMemcpyDeviceToHost));
  CHECK(one == 1);
  OK(cudaMemcpy(p, &one, 4, cudaMemcpyHostToHost));
  OK(cudaMemcpyToSymbol(counters, &one, sizeof one));
  CHECK(counters[0] == 1 && p[0] == 1);
  cudaPointerAttributes attributes;
  OK(cudaPointerGetAttributes(&attributes, p + 1));
  CHECK(attributes.type == cudaMemoryTypeManaged && attributes.hostPointer == p + 1);
  cudaMemLocation here = {cudaMemLocationTypeDevice, 0};
  OK(cudaMemPrefetchAsync(p, 256, here, 0, 0));
  OK(cudaMemAdvise(p, 256, cudaMemAdviseSetReadMostly, here));
  GIVES(cudaErrorInvalidValue, cudaFreeHost(p));
  OK(cudaFree(p));
  cudaGetLastError();
}

static void pinned() {
  int *host, *device, *mapped;
  OK(cudaMallocHost(&host, 256));
  host[0] = 3;
  OK(cudaMalloc(&device, 256));
  OK(cudaMemcpyAsync(device, host, 256, cudaMemcpyHostToDevice, 0));
  OK(cudaMemcpy(host + 1, device, 4, cudaMemcpyDeviceToHost));
  CHECK(host[1] == 3);
  OK(cudaFreeHost(host));
  OK(cudaHostAlloc(&host, 256, cudaHostAllocMapped));
  OK(cudaHostGetDevicePointer(&mapped, host, 0));
  iota<<<1, 64>>>(mapped, 1);
  OK(cudaDeviceSynchronize());
  CHECK(host[63] == 64);
  unsigned flags;
  OK(cudaHostGetFlags(&flags, host));
  CHECK(flags == cudaHostAllocMapped);
  GIVES(cudaErrorInvalidValue, cudaFree(host));
  OK(cudaFreeHost(host));
  OK(cudaFree(device));
  cudaGetLastError();
}

static void registered() {
  std::vector<int> before(1000, 1), values(100000, 2), after(1000, 3);
  int* mapped;
  values[70000] = 5;
  OK(cudaHostRegister(values.data(), values.size() * sizeof(int), cudaHostRegisterDefault));
  CHECK(values[70000] == 5 && values[99999] == 2 && before[999] == 1 && after[0] == 3);
  OK(cudaHostGetDevicePointer(&mapped, values.data() + 10, 0));
  iota<<<2, 32>>>(mapped, 50);
  OK(cudaDeviceSynchronize());
  CHECK(values[9] == 2 && values[10] == 50 && values[73] == 113 && values[74] == 2);
  GIVES(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(values.data(), 4, 0));
  OK(cudaHostUnregister(values.data()));
  values[11] = 6;
  CHECK(values[73] == 113 && values[70000] == 5 && before[999] == 1 && after[0] == 3);
  GIVES(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(values.data()));
  cudaGetLastError();
}

static void batches() {
  int *a, *b, host[4] = {1, 2, 3, 4}, back[4] = {};
  OK(cudaMallocManaged(&a, sizeof host));
  OK(cudaMalloc(&b, sizeof host));
  cudaStream_t stream;
  OK(cudaStreamCreate(&stream));
  void* to[] = {a, b};
  const void* from[] = {host, host + 2};
  size_t sizes[] = {8, 8}, first = 0;
  cudaMemcpyAttributes kind = {};
  kind.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  OK(cudaMemcpyBatchAsync(to, from, sizes, 2, &kind, &first, 1, stream));
  OK(cudaStreamSynchronize(stream));
  CHECK(a[0] == 1 && a[1] == 2);
  OK(cudaMemcpy(back, b, 8, cudaMemcpyDefault));
  CHECK(back[0] == 3 && back[1] == 4);
  cudaMemLocation here = {};
  here.type = cudaMemLocationTypeDevice;
  void* ranges[] = {a};
  OK(cudaMemPrefetchBatchAsync(ranges, sizes, 1, &here, &first, 1, 0, stream));
  cudaMemcpy3DPeerParms p = {};
  p.srcPtr = make_cudaPitchedPtr(b, 8, 8, 1);
  p.dstPtr = make_cudaPitchedPtr(a, 8, 8, 1);
  p.extent = make_cudaExtent(8, 1, 1);
  OK(cudaMemcpy3DPeer(&p));
  OK(cudaDeviceSynchronize());
  CHECK(a[0] == 3 && a[1] == 4);
  p.dstDevice = 9;
  CHECK(cudaMemcpy3DPeer(&p) != cudaSuccess);
  cudaGetLastError();
  cudaMemPool_t usual, current, mine;
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = here;
  OK(cudaMemPoolCreate(&mine, &properties));
  OK(cudaMemGetDefaultMemPool(&usual, &here, cudaMemAllocationTypePinned));
  OK(cudaDeviceGetMemPool(&current, 0));
  CHECK(current == usual);
  OK(cudaMemSetMemPool(&here, cudaMemAllocationTypePinned, mine));
  OK(cudaMemGetMemPool(&current, &here, cudaMemAllocationTypePinned));
  CHECK(current == mine);
  cudaMemAccessFlags access;
  OK(cudaMemPoolGetAccess(&access, mine, &here));
  CHECK(access == cudaMemAccessFlagsProtReadWrite);
  OK(cudaMemPoolDestroy(mine));
  OK(cudaDeviceGetMemPool(&current, 0));
  CHECK(current == usual);
  OK(cudaStreamDestroy(stream));
  OK(cudaFree(a));
  OK(cudaFree(b));
}

static void reset() {
  int *p, *q;
  double result;
  std::vector<int> values(5000, 4);
  OK(cudaMalloc(&p, 64));
  OK(cudaHostRegister(values.data(), values.size() * sizeof(int), 0));
  OK(cudaDeviceReset());
  CHECK(values[4999] == 4);
  GIVES(cudaErrorInvalidValue, cudaMemset(p, 0, 4));
  cudaGetLastError();
  OK(cudaMemcpyFromSymbol(&result, total, sizeof result));
  CHECK(result == 0);  // the module was loaded anew
  OK(cudaMalloc(&q, 64));
  iota<<<1, 16>>>(q, 1);
  OK(cudaDeviceSynchronize());
  OK(cudaFree(q));
}

int main() {
  plain();
  info();
  blocks();
  symbols();
  managed();
  pinned();
  registered();
  batches();
  reset();
  if (!failures) std::puts("all passed");
  return failures;
}
