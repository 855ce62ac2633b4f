// Arrays, textures and surfaces: copies of every kind, objects, what the runtime refuses, reads and writes.
#include "check.h"

__global__ void read2d(cudaTextureObject_t t, float* out, float dx, float dy) {
  out[threadIdx.y * 8 + threadIdx.x] = tex2D<float>(t, threadIdx.x + dx, threadIdx.y + dy);
}
__global__ void read_layers(cudaTextureObject_t t, int* out, int layer) {
  out[threadIdx.x] = tex1DLayered<int>(t, threadIdx.x + 0.5f, layer);
}
__global__ void fetch(cudaTextureObject_t t, unsigned char* out) {
  uchar4 v = tex1Dfetch<uchar4>(t, (int)threadIdx.x - 2);
  out[threadIdx.x] = v.x + v.y + v.z + v.w;
}
__global__ void gather(cudaTextureObject_t t, float4* out) { out[threadIdx.x] = tex2Dgather<float4>(t, threadIdx.x + 1.f, 2.f, 0); }
__global__ void turn(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  short2 v = surf2Dread<short2>(from, threadIdx.x * 4, threadIdx.y, cudaBoundaryModeClamp);
  surf2Dwrite(make_short2(v.y, v.x), to, threadIdx.y * 4, threadIdx.x, cudaBoundaryModeZero);
}
__global__ void two_textures(cudaTextureObject_t a, cudaTextureObject_t b, float* out) {
  out[threadIdx.x] = tex2D<float>(threadIdx.x & 1 ? a : b, 1.5f, 2.5f);
}

__global__ void along(cudaTextureObject_t t, float* out) {
  out[threadIdx.x] = tex1D<float>(t, threadIdx.x + 1.f);
  out[threadIdx.x + 8] = tex2D<float>(t, threadIdx.x + 1.f, 0.5f);
}

__global__ void in_format(cudaSurfaceObject_t s, unsigned a, unsigned b, unsigned c, unsigned d, int x) {
  asm volatile("sust.p.2d.v4.b32.clamp [%0, {%1, %2}], {%3,%4,%5,%6};" ::"l"(s), "r"(x), "r"(1), "r"(a), "r"(b), "r"(c), "r"(d));
}
__global__ void one_channel(cudaSurfaceObject_t s, unsigned a, int x) {
  asm volatile("sust.p.2d.b32.zero [%0, {%1, %2}], %3;" ::"l"(s), "r"(x), "r"(0), "r"(a));
}

static float numbers[64], back[64];

static cudaResourceDesc of(cudaArray_t array) {
  cudaResourceDesc d = {};
  d.resType = cudaResourceTypeArray;
  d.res.array.array = array;
  return d;
}

static void copies() {
  cudaArray_t a, b;
  cudaChannelFormatDesc f = cudaCreateChannelDesc<float>(), values_read;
  OK(cudaMallocArray(&a, &f, 8, 8));
  OK(cudaMallocArray(&b, &f, 8, 8));
  OK(cudaMemcpy2DToArray(a, 0, 0, numbers, 0, 32, 1, cudaMemcpyHostToDevice));  // one row has no pitch
  OK(cudaMemcpy2DToArray(a, 0, 0, numbers, 32, 32, 8, cudaMemcpyHostToDevice));
  OK(cudaMemcpy2DArrayToArray(b, 4, 1, a, 8, 2, 12, 3, cudaMemcpyDeviceToDevice));
  OK(cudaMemcpy2DFromArray(back, 12, b, 4, 1, 12, 3, cudaMemcpyDeviceToHost));
  CHECK(back[0] == 18 && back[3] == 26 && back[8] == 36);
  cudaMemcpy3DParms p = {};
  p.srcArray = a;
  p.srcPos = make_cudaPos(1, 2, 0);
  p.dstPtr = make_cudaPitchedPtr(back, 20, 5, 4);
  p.extent = make_cudaExtent(5, 4, 1);
  p.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3D(&p));
  CHECK(back[0] == 17 && back[4] == 21 && back[5] == 25 && back[19] == 45);
  p.extent.width = 8;
  GIVES(cudaErrorInvalidValue, cudaMemcpy3D(&p));
  GIVES(cudaErrorInvalidValue, cudaMemcpy2DToArray(a, 4, 0, numbers, 32, 32, 1, cudaMemcpyHostToDevice));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  OK(cudaMemcpyToArray(b, 8, 1, numbers, 80, cudaMemcpyHostToDevice));  // 6 of a row, a row, 6 of another
  OK(cudaMemcpyFromArray(back, b, 8, 1, 80, cudaMemcpyDeviceToHost));
  CHECK(!memcmp(back, numbers, 80));
#pragma GCC diagnostic pop
  cudaExtent e;
  unsigned flags;
  OK(cudaArrayGetInfo(&values_read, &e, &flags, a));
  CHECK(values_read.x == 32 && values_read.f == cudaChannelFormatKindFloat && e.width == 8 && e.height == 8 && !e.depth && !flags);
  OK(cudaFreeArray(a));
  OK(cudaFreeArray(b));
}

// Whole numbers are cut to the format's range, halves rounded toward zero; channels that are not given are 0.
static void formats() {
  struct {
    cudaChannelFormatDesc format;
    unsigned short bits[4];
  } cases[] = {{cudaCreateChannelDesc(8, 8, 8, 8, cudaChannelFormatKindUnsigned), {0xffff, 0xffc8}},
               {cudaCreateChannelDesc(8, 8, 8, 8, cudaChannelFormatKindSigned), {0x807f, 0x7f7f}},
               {cudaCreateChannelDesc(16, 16, 16, 16, cudaChannelFormatKindFloat), {0x3999, 0xbe66, 0, 0x7bff}}};
  for (auto& c : cases) {
    cudaArray_t a;
    cudaSurfaceObject_t s;
    unsigned short texels[16];
    size_t size = (c.format.x + c.format.y + c.format.z + c.format.w) / 8;
    OK(cudaMallocArray(&a, &c.format, 2, 2, cudaArraySurfaceLoadStore));
    cudaResourceDesc r = of(a);
    OK(cudaCreateSurfaceObject(&s, &r));
    in_format<<<1, 1>>>(s, 0x3f333333, 0xbfcccccd, 200, 0x47c35000, 9);
    one_channel<<<1, 1>>>(s, 0x3f333333, 0);
    one_channel<<<1, 1>>>(s, 0, 2);  // outside
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy2DFromArray(texels, 2 * size, a, 0, 0, 2 * size, 2, cudaMemcpyDeviceToHost));
    CHECK(texels[0] == (size == 8 ? 0x3999 : c.bits[0] & 0xff) && !texels[1]);
    CHECK(!memcmp((char*)texels + 3 * size, c.bits, size));
    OK(cudaDestroySurfaceObject(s));
    OK(cudaFreeArray(a));
  }
}

static void one_row() {  // two dimensions of one row are also read as one dimension
  cudaArray_t a;
  cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
  cudaTextureObject_t texture;
  float* out;
  OK(cudaMalloc(&out, 16 * sizeof(float)));
  OK(cudaMallocArray(&a, &f, 8, 1));
  OK(cudaMemcpy2DToArray(a, 0, 0, numbers, 0, 32, 1, cudaMemcpyHostToDevice));
  cudaResourceDesc r = of(a);
  cudaTextureDesc d = {};
  d.addressMode[0] = d.addressMode[1] = cudaAddressModeClamp;
  d.filterMode = cudaFilterModeLinear;
  OK(cudaCreateTextureObject(&texture, &r, &d, nullptr));
  along<<<1, 8>>>(texture, out);
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(back, out, 64, cudaMemcpyDeviceToHost));
  CHECK(back[0] == 0.5f && back[6] == 6.5f && back[7] == 7 && back[8] == 0.5f && back[15] == 7);
  OK(cudaDestroyTextureObject(texture));
  OK(cudaFreeArray(a));
  OK(cudaFree(out));
}

static void reads() {
  cudaArray_t a;
  cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
  float* out;
  OK(cudaMalloc(&out, 64 * sizeof(float)));
  OK(cudaMallocArray(&a, &f, 8, 8, cudaArrayTextureGather));
  OK(cudaMemcpy2DToArray(a, 0, 0, numbers, 32, 32, 8, cudaMemcpyHostToDevice));
  cudaResourceDesc r = of(a), r2;
  cudaTextureDesc d = {}, d2;
  cudaTextureObject_t t, border;
  d.addressMode[0] = d.addressMode[1] = cudaAddressModeClamp;
  d.filterMode = cudaFilterModeLinear;
  OK(cudaCreateTextureObject(&t, &r, &d, nullptr));
  OK(cudaGetTextureObjectResourceDesc(&r2, t));
  OK(cudaGetTextureObjectTextureDesc(&d2, t));
  CHECK(r2.res.array.array == a && d2.filterMode == cudaFilterModeLinear);
  read2d<<<1, dim3(8, 8)>>>(t, out, 0.75f, 0.5f);
  OK(cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost));
  CHECK(back[0] == 0.25f && back[7] == 7 && back[8] == 8.25f && back[62] == 62.25f);
  d.filterMode = cudaFilterModePoint;
  d.addressMode[0] = d.addressMode[1] = cudaAddressModeBorder;
  d.borderColor[0] = -1;
  OK(cudaCreateTextureObject(&border, &r, &d, nullptr));
  read2d<<<1, dim3(8, 8)>>>(border, out, -0.5f, 1.5f);
  OK(cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost));
  CHECK(back[0] == -1 && back[1] == 8 && back[7] == 14 && back[56] == -1 && back[63] == -1);
  two_textures<<<1, 32>>>(t, border, out);
  OK(cudaMemcpy(back, out, 128, cudaMemcpyDeviceToHost));
  CHECK(back[0] == 17 && back[1] == 17 && back[31] == 17);
  gather<<<1, 4>>>(t, (float4*)out);
  OK(cudaMemcpy(back, out, 64, cudaMemcpyDeviceToHost));
  CHECK(back[0] == 16 && back[1] == 17 && back[2] == 9 && back[3] == 8 && back[4] == 17);
  OK(cudaDestroyTextureObject(t));
  OK(cudaDestroyTextureObject(border));
  GIVES(cudaErrorInvalidValue, cudaGetTextureObjectTextureDesc(&d2, t));

  unsigned char* bytes;
  OK(cudaMalloc(&bytes, 64));
  unsigned char in[16] = {1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 1, 9, 0, 0, 0}, sums[8];
  OK(cudaMemcpy(bytes, in, 16, cudaMemcpyHostToDevice));
  cudaResourceDesc linear = {};
  linear.resType = cudaResourceTypeLinear;
  linear.res.linear.devPtr = bytes;
  linear.res.linear.desc = cudaCreateChannelDesc<uchar4>();
  linear.res.linear.sizeInBytes = 16;
  cudaTextureDesc plain = {};
  OK(cudaCreateTextureObject(&t, &linear, &plain, nullptr));
  fetch<<<1, 8>>>(t, bytes + 32);
  OK(cudaMemcpy(sums, bytes + 32, 8, cudaMemcpyDeviceToHost));
  CHECK(!sums[0] && !sums[1] && sums[2] == 10 && sums[3] == 26 && sums[4] == 1 && sums[5] == 9 && !sums[6]);
  OK(cudaFree(bytes));
  OK(cudaFree(out));
  OK(cudaFreeArray(a));
}

static void layers_and_surfaces() {
  int values[12], values_read[8];
  for (int i = 0; i < 12; i++) values[i] = 100 + i;
  cudaArray_t a, b;
  cudaChannelFormatDesc f = cudaCreateChannelDesc<int>(), pairs = cudaCreateChannelDesc<short2>();
  OK(cudaMalloc3DArray(&a, &f, make_cudaExtent(4, 0, 3), cudaArrayLayered));
  cudaMemcpy3DParms p = {};
  p.srcPtr = make_cudaPitchedPtr(values, 16, 4, 1);
  p.dstArray = a;
  p.extent = make_cudaExtent(4, 1, 3);
  p.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&p));
  cudaResourceDesc r = of(a);
  cudaTextureDesc d = {};
  cudaTextureObject_t t;
  int* out;
  OK(cudaMalloc(&out, 64));
  OK(cudaCreateTextureObject(&t, &r, &d, nullptr));
  read_layers<<<1, 4>>>(t, out, 1);
  read_layers<<<1, 4>>>(t, out + 4, 77);
  OK(cudaMemcpy(values_read, out, 32, cudaMemcpyDeviceToHost));
  CHECK(values_read[0] == 104 && values_read[3] == 107 && values_read[4] == 108 && values_read[7] == 111);
  OK(cudaFree(out));
  OK(cudaFreeArray(a));

  short turned[64], source[64];
  for (int i = 0; i < 64; i++) source[i] = (short)i;
  OK(cudaMallocArray(&a, &pairs, 8, 4, cudaArraySurfaceLoadStore));
  OK(cudaMallocArray(&b, &pairs, 4, 8, cudaArraySurfaceLoadStore));
  OK(cudaMemcpy2DToArray(a, 0, 0, source, 32, 32, 4, cudaMemcpyHostToDevice));
  cudaResourceDesc ra = of(a), rb = of(b);
  cudaSurfaceObject_t from, to;
  OK(cudaCreateSurfaceObject(&from, &ra));
  OK(cudaCreateSurfaceObject(&to, &rb));
  turn<<<1, dim3(8, 5)>>>(from, to);  // the fifth row reads the fourth, and is written nowhere
  OK(cudaMemcpy2DFromArray(turned, 16, b, 0, 0, 16, 8, cudaMemcpyDeviceToHost));
  CHECK(turned[0] == 1 && turned[1] == 0 && turned[2] == 17 && turned[8] == 3 && turned[63] == 62);
  OK(cudaDestroySurfaceObject(from));
  OK(cudaDestroySurfaceObject(to));
  OK(cudaFreeArray(a));
  OK(cudaFreeArray(b));
}

static void refusals() {
  cudaArray_t a;
  cudaChannelFormatDesc three = cudaCreateChannelDesc(8, 8, 8, 0, cudaChannelFormatKindUnsigned);
  cudaChannelFormatDesc words = cudaCreateChannelDesc<unsigned>();
  GIVES(cudaErrorInvalidChannelDescriptor, cudaMallocArray(&a, &three, 8, 8));
  cudaChannelFormatDesc planes = cudaCreateChannelDesc(8, 8, 8, 0, cudaChannelFormatKindNV12);
  CHECK(cudaMallocArray(&a, &planes, 8, 8) != cudaSuccess);
  CHECK(cudaMalloc3DArray(&a, &words, make_cudaExtent(8, 4, 6), cudaArrayCubemap) != cudaSuccess);
  OK(cudaMallocArray(&a, &words, 8, 8));
  cudaResourceDesc r = of(a);
  cudaTextureDesc d = {};
  d.filterMode = cudaFilterModeLinear;
  cudaTextureObject_t t;
  GIVES(cudaErrorInvalidFilterSetting, cudaCreateTextureObject(&t, &r, &d, nullptr));
  OK(cudaFreeArray(a));
  cudaGetLastError();
}

int main() {
  for (int i = 0; i < 64; i++) numbers[i] = (float)i;
  copies();
  formats();
  one_row();
  reads();
  layers_and_surfaces();
  refusals();
  if (!failures) std::puts("all passed");
  return failures;
}
