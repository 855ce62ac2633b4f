#include <cstdio>
#include <cstdlib>
#include <cstring>
__global__ void fill(int* a, int v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = v + i;
}
__global__ void add(int* out, const int* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] + 1;
}
__global__ void next_case() {}
__global__ void count(int* sum) { atomicAdd(sum, 1); }
__global__ void publish(int* data, int* flag) {
  data[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicExch(flag, 1);
  }
}
__global__ void take(int* out, int* data, int* flag) {
  if (threadIdx.x == 0) {
    while (!atomicAdd(flag, 0)) {}
    __threadfence();
  }
  __syncthreads();
  out[threadIdx.x] = data[threadIdx.x];
}
enum { N = 1000, B = 128, G = (N + B - 1) / B };
struct Everything {
  int *a, *b, *c, *pinned, host[N];
  cudaStream_t s, t, apart;
  cudaEvent_t e;
} v;
static void streams(const char* what) {
  auto is = [what](const char* name) { return !strcmp(what, name); };
  if (is("two_streams")) {  // race: fill-add
    fill<<<G, B, 0, v.s>>>(v.a, 0, N);
    add<<<G, B, 0, v.t>>>(v.b, v.a, N);
  } else if (is("one_stream")) {
    fill<<<G, B, 0, v.s>>>(v.a, 0, N);
    add<<<G, B, 0, v.s>>>(v.b, v.a, N);
  } else if (is("event")) {
    fill<<<G, B, 0, v.s>>>(v.a, 0, N);
    cudaEventRecord(v.e, v.s);
    cudaStreamWaitEvent(v.t, v.e, 0);
    add<<<G, B, 0, v.t>>>(v.b, v.a, N);
  } else if (is("event_too_early")) {  // race: fill-add
    cudaEventRecord(v.e, v.s);
    fill<<<G, B, 0, v.s>>>(v.a, 0, N);
    cudaStreamWaitEvent(v.t, v.e, 0);
    add<<<G, B, 0, v.t>>>(v.b, v.a, N);
  } else if (is("default_between")) {
    fill<<<G, B, 0, v.s>>>(v.a, 0, N);
    count<<<1, 1>>>(v.c);
    add<<<G, B, 0, v.t>>>(v.b, v.a, N);
  } else if (is("default_stream")) {
    fill<<<G, B>>>(v.a, 0, N);
    add<<<G, B, 0, v.t>>>(v.b, v.a, N);
  } else if (is("default_and_apart")) {  // race: fill-add
    fill<<<G, B>>>(v.a, 0, N);
    add<<<G, B, 0, v.apart>>>(v.b, v.a, N);
  } else if (is("host_waits")) {
    fill<<<G, B, 0, v.s>>>(v.a, 0, N);
    cudaStreamSynchronize(v.s);
    add<<<G, B, 0, v.apart>>>(v.b, v.a, N);
  } else if (is("host_waits_for_another")) {  // race: fill-add
    fill<<<G, B, 0, v.s>>>(v.a, 0, N);
    cudaStreamSynchronize(v.t);
    add<<<G, B, 0, v.apart>>>(v.b, v.a, N);
  } else if (is("host_waits_for_the_event")) {
    fill<<<G, B, 0, v.s>>>(v.a, 0, N);
    cudaEventRecord(v.e, v.s);
    cudaEventSynchronize(v.e);
    add<<<G, B, 0, v.t>>>(v.b, v.a, N);
  } else if (is("device_waits")) {
    fill<<<G, B, 0, v.apart>>>(v.a, 0, N);
    cudaDeviceSynchronize();
    add<<<G, B, 0, v.t>>>(v.b, v.a, N);
  } else if (is("other_halves")) {
    fill<<<G, B, 0, v.s>>>(v.a, 0, N / 2);
    fill<<<G, B, 0, v.t>>>(v.a + N / 2, 0, N / 2);
  } else if (is("halves_overlap")) {  // race: fill-fill
    fill<<<G, B, 0, v.s>>>(v.a, 0, N / 2 + 1);
    fill<<<G, B, 0, v.t>>>(v.a + N / 2, 0, N / 2);
  } else if (is("both_read")) {
    add<<<G, B, 0, v.s>>>(v.b, v.a, N);
    add<<<G, B, 0, v.t>>>(v.c, v.a, N);
  } else if (is("both_count")) {
    count<<<4, B, 0, v.s>>>(v.a);
    count<<<4, B, 0, v.t>>>(v.a);
  } else if (is("copy_beside")) {  // race: fill-copy
    fill<<<G, B, 0, v.s>>>(v.a, 0, N);
    cudaMemcpyAsync(v.pinned, v.a, sizeof v.host / 2, cudaMemcpyDeviceToHost, v.t);  // the other side
  } else if (is("copy_after")) {
    fill<<<G, B, 0, v.s>>>(v.a, 0, N);
    cudaMemcpyAsync(v.pinned, v.a, sizeof v.host, cudaMemcpyDeviceToHost, v.s);
  } else if (is("copy_by_default")) {
    fill<<<G, B, 0, v.s>>>(v.a, 0, N);
    cudaMemcpy(v.host, v.a, sizeof v.host, cudaMemcpyDeviceToHost);
  } else if (is("copy_by_default_beside")) {  // race: fill-copy
    fill<<<G, B, 0, v.apart>>>(v.a, 0, N);
    cudaMemcpy(v.host, v.a, sizeof v.host, cudaMemcpyDeviceToHost);  // the other side
  } else if (is("set_by_default_beside")) {  // race: fill-copy
    cudaMemset(v.a, 0, sizeof v.host);  // the other side
    fill<<<G, B, 0, v.apart>>>(v.a, 0, N);
  } else if (is("flag_between")) {
    publish<<<1, 64, 0, v.s>>>(v.a, v.c);
    take<<<1, 64, 0, v.t>>>(v.b, v.a, v.c);
  }
  cudaPeekAtLastError();  // else a copy may be the last call, made from the caller's line
}
static void graphs(const char* what) {
  auto is = [what](const char* name) { return !strcmp(what, name); };
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  bool joined = true;
  if (is("graph_fork")) {  // race: fill-add
    joined = false;
  }
  cudaStreamBeginCapture(v.s, cudaStreamCaptureModeGlobal);
  count<<<1, 1, 0, v.s>>>(v.c);
  cudaEventRecord(v.e, v.s);
  cudaStreamWaitEvent(v.t, v.e, 0);
  fill<<<G, B, 0, v.s>>>(v.a, 0, N);
  if (joined) {
    cudaEventRecord(v.e, v.s);
    cudaStreamWaitEvent(v.t, v.e, 0);
  }
  add<<<G, B, 0, v.t>>>(v.b, v.a, N);
  cudaEventRecord(v.e, v.t);
  cudaStreamWaitEvent(v.s, v.e, 0);
  cudaStreamEndCapture(v.s, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, v.s);
  cudaGraphLaunch(exec, v.s);
  if (is("graph_and_stream")) {  // race: fill-add fill-fill
    fill<<<G, B, 0, v.apart>>>(v.a, 0, N);
  } else if (is("graph_in_order")) {
    fill<<<G, B, 0, v.s>>>(v.a, 0, N);
  }
}
int main(int argc, char** argv) {
  cudaMalloc(&v.a, sizeof v.host);
  cudaMalloc(&v.b, sizeof v.host);
  cudaMalloc(&v.c, sizeof v.host);
  cudaMallocHost(&v.pinned, sizeof v.host);
  cudaStreamCreate(&v.s);
  cudaStreamCreate(&v.t);
  cudaStreamCreateWithFlags(&v.apart, cudaStreamNonBlocking);
  cudaEventCreate(&v.e);
  cudaMemset(v.a, 0, sizeof v.host);
  cudaMemset(v.c, 0, sizeof v.host);
  cudaDeviceSynchronize();
  for (int i = 1; i < argc; i++) {
    if (strncmp(argv[i], "graph", 5)) streams(argv[i]);
    else graphs(argv[i]);
    cudaDeviceSynchronize();
    next_case<<<1, 1>>>();
    cudaDeviceSynchronize();
  }
}
