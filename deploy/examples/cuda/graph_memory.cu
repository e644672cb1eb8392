// SPDX-License-Identifier: Apache-2.0
// Memory that belongs to a graph: allocated and freed by its nodes, left to the program by a launch,
// captured from stream-ordered allocation; and user objects that live as long as a graph needs them.
#include "check.h"

static const int N = 1 << 16;

__global__ void iota(int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = i;
}

__global__ void add(int *out, const int *in, int amount, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] + amount;
}

static uint64_t memory_attribute(cudaGraphMemAttributeType attribute) {
  uint64_t value = 0;
  CHECK(cudaDeviceGetGraphMemAttribute(0, attribute, &value));
  return value;
}

static void launch_and_check(cudaGraphExec_t exec, cudaStream_t stream, const int *result,
    int amount) {
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  std::vector<int> host = host_copy(result, N);
  for (int i = 0; i < N; i++) REQUIRE(host[i] == i + amount, "element %d is %d", i, host[i]);
}

static cudaMemAllocNodeParams allocation(size_t bytes) {
  cudaMemAllocNodeParams params = {};
  params.poolProps.allocType = cudaMemAllocationTypePinned;
  params.poolProps.location.type = cudaMemLocationTypeDevice;
  params.poolProps.location.id = 0;
  params.bytesize = bytes;
  return params;
}

static cudaGraphNode_t kernel(cudaGraph_t graph, cudaGraphNode_t after, void *function,
    void **args) {
  cudaKernelNodeParams params = {};
  params.func = function;
  params.gridDim = dim3(N / 256);
  params.blockDim = dim3(256);
  params.kernelParams = args;
  cudaGraphNode_t node;
  CHECK(cudaGraphAddKernelNode(&node, graph, &after, 1, &params));
  return node;
}

// Scratch memory inside the graph; the result outside.
static void scratch(cudaStream_t stream) {
  int *result, n = N, amount = 3;
  CHECK(cudaMalloc(&result, N * sizeof(int)));
  cudaGraph_t graph;
  cudaGraphNode_t alloc, freed;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaMemAllocNodeParams params = allocation(N * sizeof(int));
  CHECK(cudaGraphAddMemAllocNode(&alloc, graph, nullptr, 0, &params));
  REQUIRE(params.dptr, "no address");
  int *temporary = static_cast<int *>(params.dptr);
  void *iotaArgs[] = {&temporary, &n};
  cudaGraphNode_t first = kernel(graph, alloc, (void *)iota, iotaArgs);
  void *addArgs[] = {&result, &temporary, &amount, &n};
  cudaGraphNode_t second = kernel(graph, first, (void *)add, addArgs);
  CHECK(cudaGraphAddMemFreeNode(&freed, graph, &second, 1, temporary));
  EXPECT(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&freed, graph, &second, 1, temporary));
  EXPECT(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&freed, graph, &second, 1, result));
  cudaMemAllocNodeParams read = {};
  CHECK(cudaGraphMemAllocNodeGetParams(alloc, &read));
  REQUIRE(read.dptr == temporary && read.bytesize == N * sizeof(int), "the node's parameters");
  cudaGraph_t clone;
  EXPECT(cudaErrorNotSupported, cudaGraphClone(&clone, graph));
  cudaGetLastError();

  cudaGraphExec_t exec, another;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  EXPECT(cudaErrorInvalidValue, cudaGraphInstantiate(&another, graph, 0));
  cudaGetLastError();
  for (int i = 0; i < 5; i++) {
    CHECK(cudaMemsetAsync(result, 0, N * sizeof(int), stream));
    launch_and_check(exec, stream, result, 3);
  }
  uint64_t used = memory_attribute(cudaGraphMemAttrUsedMemCurrent);
  REQUIRE(used >= N * sizeof(int), "%llu bytes kept for the next launch", (unsigned long long)used);
  CHECK(cudaDeviceGraphMemTrim(0));
  REQUIRE(memory_attribute(cudaGraphMemAttrUsedMemCurrent) == 0, "graphs still use memory");
  REQUIRE(memory_attribute(cudaGraphMemAttrUsedMemHigh) >= N * sizeof(int), "no high mark");
  REQUIRE(memory_attribute(cudaGraphMemAttrReservedMemCurrent) >= N * sizeof(int), "none reserved");
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphInstantiate(&another, graph, 0));
  launch_and_check(another, stream, result, 3);
  CHECK(cudaGraphExecDestroy(another));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaDeviceGraphMemTrim(0));
  REQUIRE(memory_attribute(cudaGraphMemAttrReservedMemCurrent) == 0, "memory stays reserved");
  CHECK(cudaFree(result));
}

// Captured; what is not freed in the graph is the program's until it frees it.
static void left_alive(cudaStream_t stream) {
  int *result;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  int *temporary;
  CHECK(cudaMallocAsync(&temporary, N * sizeof(int), stream));
  CHECK(cudaMallocAsync(&result, N * sizeof(int), stream));
  iota<<<N / 256, 256, 0, stream>>>(temporary, N);
  add<<<N / 256, 256, 0, stream>>>(result, temporary, 10, N);
  CHECK(cudaFreeAsync(temporary, stream));
  cudaGraph_t graph;
  CHECK(cudaStreamEndCapture(stream, &graph));
  size_t nodes;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  REQUIRE(nodes == 5, "%zu nodes", nodes);
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  launch_and_check(exec, stream, result, 10);
  REQUIRE(memory_attribute(cudaGraphMemAttrUsedMemCurrent) >= N * sizeof(int), "too little in use");
  EXPECT(cudaErrorInvalidValue, cudaGraphLaunch(exec, stream));
  cudaGetLastError();
  CHECK(cudaFreeAsync(result, stream));
  launch_and_check(exec, stream, result, 10);
  CHECK(cudaFree(result));
  EXPECT(cudaErrorInvalidValue, cudaFree(result));
  cudaGetLastError();
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
  for (int i = 0; i < 3; i++) launch_and_check(exec, stream, result, 10);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

static void CUDART_CB destroyed(void *counter) { ++*static_cast<int *>(counter); }

static void user_objects(cudaStream_t stream) {
  int ends = 0, *value;
  CHECK(cudaMalloc(&value, N * sizeof(int)));
  cudaUserObject_t object;
  CHECK(cudaUserObjectCreate(&object, &ends, destroyed, 1, cudaUserObjectNoDestructorSync));
  cudaGraph_t graph;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  iota<<<N / 256, 256, 0, stream>>>(value, N);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  REQUIRE(ends == 0, "the object went with the graph, though it can still be launched");
  launch_and_check(exec, stream, value, 0);
  CHECK(cudaGraphExecDestroy(exec));
  REQUIRE(ends == 1, "the object was destroyed %d times", ends);
  CHECK(cudaUserObjectCreate(&object, &ends, destroyed, 2, cudaUserObjectNoDestructorSync));
  CHECK(cudaUserObjectRetain(object, 1));
  CHECK(cudaUserObjectRelease(object, 2));
  REQUIRE(ends == 1, "an object with a reference was destroyed");
  CHECK(cudaUserObjectRelease(object, 1));
  REQUIRE(ends == 2, "the object was not destroyed");
  CHECK(cudaFree(value));
}

int main() {
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  scratch(stream);
  left_alive(stream);
  user_objects(stream);
  CHECK(cudaStreamDestroy(stream));
  return ok("scratch memory, memory left alive, user objects");
}
