// Graphs: built by hand, captured from streams, changed, nested.
#include "check.h"

extern "C" __global__ void iota(int* out, int first) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = first + i;
}

static int *a, *b, host[64], calls;
static void CUDART_CB count(void* by) { calls += *(int*)by; }

static cudaKernelNodeParams kernel(int** out, int* first, void** args) {
  args[0] = out;
  args[1] = first;
  cudaKernelNodeParams params = {};
  params.func = (void*)iota;
  params.gridDim = 2;
  params.blockDim = 32;
  params.kernelParams = args;
  return params;
}

static void by_hand() {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphNode_t fill, set, back, call;
  cudaGraphNodeType type;
  size_t nodes = 0, roots = 0;
  void* args[2];
  int first = 10, one = 1;
  OK(cudaGraphCreate(&graph, 0));
  // The copy is added first and runs last.
  OK(cudaGraphAddMemcpyNode1D(&back, graph, nullptr, 0, host, a, sizeof host, cudaMemcpyDeviceToHost));
  cudaMemsetParams zero = {};
  zero.dst = a + 60;
  zero.elementSize = 4;
  zero.value = 7;
  zero.width = 2;
  zero.height = 1;
  OK(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &zero));
  cudaKernelNodeParams params = kernel(&a, &first, args);
  OK(cudaGraphAddKernelNode(&fill, graph, nullptr, 0, &params));
  OK(cudaGraphAddDependencies(graph, &fill, &set, nullptr, 1));
  OK(cudaGraphAddDependencies(graph, &set, &back, nullptr, 1));
  cudaHostNodeParams host_call = {count, &one};
  OK(cudaGraphAddHostNode(&call, graph, &back, 1, &host_call));
  OK(cudaGraphGetNodes(graph, nullptr, &nodes));
  OK(cudaGraphGetRootNodes(graph, nullptr, &roots));
  CHECK(nodes == 4 && roots == 1);
  OK(cudaGraphNodeGetType(set, &type));
  CHECK(type == cudaGraphNodeTypeMemset);
  OK(cudaGraphInstantiate(&exec, graph, 0));
  first = 1000;  // arguments were taken when the node was made
  OK(cudaGraphLaunch(exec, 0));
  OK(cudaDeviceSynchronize());
  CHECK(host[0] == 10 && host[59] == 69 && host[60] == 7 && host[61] == 7 && host[62] == 72 && calls == 1);
  params = kernel(&a, &first, args);
  OK(cudaGraphExecKernelNodeSetParams(exec, fill, &params));
  OK(cudaGraphLaunch(exec, 0));
  OK(cudaDeviceSynchronize());
  CHECK(host[0] == 1000 && calls == 2);
  cudaKernelNodeParams old;
  OK(cudaGraphKernelNodeGetParams(fill, &old));
  CHECK(old.gridDim.x == 2 && *(int*)old.kernelParams[1] == 10);
  cudaGraph_t clone, outer;
  cudaGraphExec_t nested;
  OK(cudaGraphClone(&clone, graph));
  OK(cudaGraphCreate(&outer, 0));
  cudaGraphNode_t child;
  OK(cudaGraphAddChildGraphNode(&child, outer, nullptr, 0, clone));
  OK(cudaGraphInstantiate(&nested, outer, 0));
  OK(cudaGraphDestroy(outer));
  OK(cudaGraphDestroy(clone));
  OK(cudaGraphLaunch(nested, 0));
  OK(cudaDeviceSynchronize());
  CHECK(host[0] == 10 && calls == 3);
  OK(cudaGraphExecDestroy(nested));
  OK(cudaGraphExecDestroy(exec));
  OK(cudaGraphDestroy(graph));
}

static void captured() {
  cudaStream_t stream, other;
  cudaEvent_t fork, join;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamCaptureStatus status;
  size_t nodes = 0;
  int ten = 10;
  calls = 0;
  memset(host, 0, sizeof host);
  OK(cudaStreamCreate(&stream));
  OK(cudaStreamCreate(&other));
  OK(cudaEventCreate(&fork));
  OK(cudaEventCreate(&join));
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  OK(cudaStreamIsCapturing(stream, &status));
  CHECK(status == cudaStreamCaptureStatusActive);
  OK(cudaMemsetAsync(a, 0, sizeof host, stream));
  OK(cudaEventRecord(fork, stream));
  OK(cudaStreamWaitEvent(other, fork, 0));
  iota<<<1, 32, 0, stream>>>(a, 5);
  iota<<<1, 32, 0, other>>>(b, 6);
  OK(cudaEventRecord(join, other));
  OK(cudaStreamWaitEvent(stream, join, 0));
  OK(cudaMemcpyAsync(host, a, 128, cudaMemcpyDeviceToHost, stream));
  OK(cudaMemcpyAsync(host + 32, b, 128, cudaMemcpyDeviceToHost, stream));
  OK(cudaLaunchHostFunc(stream, count, &ten));
  CHECK(calls == 0 && host[0] == 0);  // nothing has run
  OK(cudaStreamEndCapture(stream, &graph));
  OK(cudaStreamIsCapturing(other, &status));
  CHECK(status == cudaStreamCaptureStatusNone);
  OK(cudaGraphGetNodes(graph, nullptr, &nodes));
  CHECK(nodes == 6);
  OK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; i++) OK(cudaGraphLaunch(exec, stream));
  OK(cudaStreamSynchronize(stream));
  CHECK(host[0] == 5 && host[31] == 36 && host[32] == 6 && calls == 30);

  cudaGraph_t changed;
  cudaGraphExecUpdateResultInfo info;
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  OK(cudaMemsetAsync(a, 0, sizeof host, stream));
  OK(cudaStreamEndCapture(stream, &changed));
  GIVES(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(exec, changed, &info));
  CHECK(info.result != cudaGraphExecUpdateSuccess);
  OK(cudaGraphExecUpdate(exec, graph, &info));
  CHECK(info.result == cudaGraphExecUpdateSuccess);
  OK(cudaGraphLaunch(exec, stream));
  OK(cudaStreamSynchronize(stream));
  CHECK(calls == 40);
  GIVES(cudaErrorIllegalState, cudaStreamEndCapture(stream, &changed));
  GIVES(cudaErrorStreamCaptureUnsupported, cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal));
  cudaGetLastError();
  OK(cudaGraphExecDestroy(exec));
  OK(cudaGraphDestroy(graph));
  OK(cudaStreamDestroy(stream));
  OK(cudaStreamDestroy(other));
}

static void memory_of_a_graph() {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  int* inner;
  OK(cudaStreamCreate(&stream));
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  OK(cudaMallocAsync(&inner, sizeof host, stream));
  iota<<<2, 32, 0, stream>>>(inner, 77);
  OK(cudaMemcpyAsync(a, inner, sizeof host, cudaMemcpyDeviceToDevice, stream));
  OK(cudaStreamEndCapture(stream, &graph));
  OK(cudaGraphInstantiate(&exec, graph, 0));
  OK(cudaGraphDestroy(graph));  // the instance goes on
  OK(cudaGraphLaunch(exec, stream));
  OK(cudaFreeAsync(inner, stream));  // freed outside of the graph, allocated anew by the next launch
  OK(cudaMemsetAsync(a, 0, sizeof host, stream));
  OK(cudaGraphLaunch(exec, stream));
  OK(cudaFreeAsync(inner, stream));
  OK(cudaStreamSynchronize(stream));
  OK(cudaMemcpy(host, a, sizeof host, cudaMemcpyDeviceToHost));
  CHECK(host[0] == 77 && host[63] == 140);
  OK(cudaGraphExecDestroy(exec));
  OK(cudaDeviceGraphMemTrim(0));
  OK(cudaStreamDestroy(stream));
}

static void edges() {
  cudaGraph_t graph, clone;
  cudaGraphExec_t exec;
  cudaGraphNode_t n[4], from[8], to[8], found;
  size_t count = 8;
  OK(cudaGraphCreate(&graph, 0));
  for (auto& node : n) OK(cudaGraphAddEmptyNode(&node, graph, nullptr, 0));
  cudaGraphNode_t first[] = {n[0], n[0], n[1], n[2]}, second[] = {n[1], n[2], n[3], n[3]};
  OK(cudaGraphAddDependencies(graph, first, second, nullptr, 4));
  GIVES(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, first, second, nullptr, 1));  // it is there already
  OK(cudaGraphGetEdges(graph, from, to, nullptr, &count));
  CHECK(count == 4);
  count = 8;
  OK(cudaGraphNodeGetDependencies(n[3], from, nullptr, &count));
  CHECK(count == 2);
  count = 8;
  OK(cudaGraphNodeGetDependentNodes(n[0], to, nullptr, &count));
  CHECK(count == 2);
  OK(cudaGraphClone(&clone, graph));
  OK(cudaGraphNodeFindInClone(&found, n[3], clone));
  count = 8;
  OK(cudaGraphNodeGetDependencies(found, from, nullptr, &count));
  CHECK(found != n[3] && count == 2 && from[0] != n[1]);
  OK(cudaGraphRemoveDependencies(graph, first, second, nullptr, 1));
  count = 0;
  OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count));
  CHECK(count == 3);
  OK(cudaGraphDestroyNode(n[2]));
  count = 8;
  OK(cudaGraphNodeGetDependencies(n[3], from, nullptr, &count));
  CHECK(count == 1 && from[0] == n[1]);
  OK(cudaGraphAddDependencies(graph, &n[3], &n[1], nullptr, 1));  // a cycle
  CHECK(cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess);
  CHECK(cudaGraphAddDependencies(graph, &n[1], &n[1], nullptr, 1) == cudaErrorInvalidValue);
  cudaGetLastError();
  OK(cudaGraphDestroy(graph));
  OK(cudaGraphDestroy(clone));
}

static void changes() {
  cudaGraph_t graph, child, inside;
  cudaGraphExec_t exec;
  cudaGraphNode_t wait, record, nested, set, copy, alloc, release, call;
  cudaEvent_t event, other, which;
  int one = 1;
  calls = 0;
  OK(cudaEventCreate(&event));
  OK(cudaEventCreate(&other));
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaGraphCreate(&child, 0));
  cudaHostNodeParams host_call = {count, &one}, asked;
  OK(cudaGraphAddHostNode(&call, child, nullptr, 0, &host_call));
  OK(cudaGraphHostNodeGetParams(call, &asked));
  CHECK(asked.fn == count && asked.userData == &one);
  OK(cudaGraphAddEventRecordNode(&record, graph, nullptr, 0, event));
  OK(cudaGraphAddEventWaitNode(&wait, graph, &record, 1, event));
  OK(cudaGraphEventRecordNodeGetEvent(record, &which));
  CHECK(which == event);
  OK(cudaGraphAddChildGraphNode(&nested, graph, &wait, 1, child));
  OK(cudaGraphChildGraphNodeGetGraph(nested, &inside));
  CHECK(inside != child);
  cudaMemAllocNodeParams room = {};
  room.poolProps.allocType = cudaMemAllocationTypePinned;
  room.poolProps.location.type = cudaMemLocationTypeDevice;
  room.bytesize = 256;
  OK(cudaGraphAddMemAllocNode(&alloc, graph, &nested, 1, &room));
  cudaGraphNodeParams general = {};
  general.type = cudaGraphNodeTypeMemset;
  general.memset.dst = room.dptr;
  general.memset.elementSize = 4;
  general.memset.value = 5;
  general.memset.width = 64;
  general.memset.height = 1;
  OK(cudaGraphAddNode(&set, graph, &alloc, nullptr, 1, &general));
  OK(cudaGraphAddMemcpyNode1D(&copy, graph, &set, 1, host, room.dptr, 256, cudaMemcpyDeviceToHost));
  cudaMemcpy3DParms parameters;
  OK(cudaGraphMemcpyNodeGetParams(copy, &parameters));
  CHECK(parameters.extent.width == 256 && parameters.dstPtr.ptr == host && parameters.srcPtr.ptr == room.dptr);
  OK(cudaGraphAddMemFreeNode(&release, graph, &copy, 1, room.dptr));
  OK(cudaGraphInstantiate(&exec, graph, 0));
  OK(cudaGraphLaunch(exec, 0));
  OK(cudaDeviceSynchronize());
  CHECK(host[0] == 5 && host[63] == 5 && calls == 1);
  general.memset.value = 6;
  OK(cudaGraphExecNodeSetParams(exec, set, &general));
  OK(cudaGraphExecEventRecordNodeSetEvent(exec, record, other));
  OK(cudaGraphLaunch(exec, 0));
  OK(cudaDeviceSynchronize());
  CHECK(host[0] == 6 && host[63] == 6 && calls == 2);
  unsigned enabled;
  OK(cudaGraphNodeSetEnabled(exec, copy, 0));
  OK(cudaGraphNodeGetEnabled(exec, copy, &enabled));
  CHECK(!enabled);
  memset(host, 0, sizeof host);
  OK(cudaGraphLaunch(exec, 0));
  OK(cudaDeviceSynchronize());
  CHECK(host[0] == 0 && calls == 3);
  OK(cudaGraphDebugDotPrint(graph, "graph.dot", 0));
  char text[64] = {};
  FILE* file = fopen("graph.dot", "r");
  CHECK(file && fgets(text, sizeof text, file) && !strncmp(text, "digraph", 7));
  if (file) fclose(file);
  remove("graph.dot");
  OK(cudaGraphExecDestroy(exec));
  OK(cudaGraphDestroy(graph));
  OK(cudaGraphDestroy(child));
}

static int destroyed;
static void CUDART_CB destroy(void* by) { destroyed += *(int*)by; }

static void objects_and_forks() {
  cudaGraph_t graph;
  cudaUserObject_t object;
  int one = 1;
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaUserObjectCreate(&object, &one, destroy, 1, cudaUserObjectNoDestructorSync));
  OK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  OK(cudaGraphDestroy(graph));
  OK(cudaDeviceSynchronize());
  CHECK(destroyed == 1);

  cudaStream_t stream, other;
  cudaEvent_t fork, join;
  cudaStreamCaptureStatus status;
  const cudaGraphNode_t* last;
  cudaGraph_t capturing;
  unsigned long long id;
  size_t count = 0;
  OK(cudaStreamCreate(&stream));
  OK(cudaStreamCreate(&other));
  OK(cudaEventCreate(&fork));
  OK(cudaEventCreate(&join));
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  OK(cudaMemsetAsync(a, 0, 256, stream));
  OK(cudaEventRecord(fork, stream));
  OK(cudaStreamWaitEvent(other, fork, 0));
  iota<<<1, 32, 0, stream>>>(a, 5);
  iota<<<1, 32, 0, other>>>(b, 6);
  OK(cudaEventRecord(join, other));
  OK(cudaStreamWaitEvent(stream, join, 0));
  OK(cudaStreamGetCaptureInfo(stream, &status, &id, &capturing, &last, nullptr, &count));
  CHECK(status == cudaStreamCaptureStatusActive && count == 2);
  iota<<<1, 32, 0, stream>>>(a, 7);
  OK(cudaStreamEndCapture(stream, &graph));
  cudaGraphNode_t from[8], to[8];
  count = 8;
  OK(cudaGraphGetEdges(graph, from, to, nullptr, &count));
  CHECK(count == 4);  // a diamond
  OK(cudaGraphDestroy(graph));

  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  OK(cudaEventRecord(fork, stream));
  OK(cudaStreamWaitEvent(other, fork, 0));
  iota<<<1, 32, 0, other>>>(b, 6);
  GIVES(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(stream, &graph));
  cudaGetLastError();
  OK(cudaStreamDestroy(stream));
  OK(cudaStreamDestroy(other));
}

int main() {
  OK(cudaMalloc(&a, sizeof host));
  OK(cudaMalloc(&b, sizeof host));
  by_hand();
  captured();
  memory_of_a_graph();
  edges();
  changes();
  objects_and_forks();
  OK(cudaFree(a));
  OK(cudaFree(b));
  if (!failures) std::puts("all passed");
  return failures;
}
