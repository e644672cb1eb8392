// SPDX-License-Identifier: Apache-2.0
// Executable graphs changed between launches: node by node, whole, and with nodes switched off.
#include <string>
#include <unistd.h>

#include "check.h"

static const int N = 1000;

__global__ void fill(int *out, int value, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = value;
}

__global__ void multiply(int *values, int factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] *= factor;
}

__global__ void subtract(int *values, int amount, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] -= amount;
}

static void CUDART_CB set_flag(void *flag) { *static_cast<int *>(flag) += 1; }

static cudaKernelNodeParams kernel(void *function, void **args) {
  cudaKernelNodeParams params = {};
  params.func = function;
  params.gridDim = dim3((N + 127) / 128);
  params.blockDim = dim3(128);
  params.kernelParams = args;
  return params;
}

// fill, then multiply or subtract, then a copy to the host and a host function.
struct Pipeline {
  cudaGraph_t graph;
  cudaGraphNode_t fill, change, copy, host;

  Pipeline(int *device, int *result, int value, void *function, int operand, int *flag) {
    int n = N;
    CHECK(cudaGraphCreate(&graph, 0));
    void *fillArgs[] = {&device, &value, &n};
    cudaKernelNodeParams params = kernel((void *)::fill, fillArgs);
    CHECK(cudaGraphAddKernelNode(&fill, graph, nullptr, 0, &params));
    void *changeArgs[] = {&device, &operand, &n};
    params = kernel(function, changeArgs);
    CHECK(cudaGraphAddKernelNode(&change, graph, &fill, 1, &params));
    CHECK(cudaGraphAddMemcpyNode1D(
        &copy, graph, &change, 1, result, device, N * sizeof(int), cudaMemcpyDeviceToHost));
    cudaHostNodeParams call = {set_flag, flag};
    CHECK(cudaGraphAddHostNode(&host, graph, &copy, 1, &call));
  }
};

static void run(cudaGraphExec_t exec, cudaStream_t stream, const std::vector<int> &result,
    int expected, const char *what) {
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  for (int value : result) REQUIRE(value == expected, "%s: %d, not %d", what, value, expected);
}

int main() {
  int *device, *other, flag = 0, otherFlag = 0, n = N;
  std::vector<int> result(N), elsewhere(N);
  CHECK(cudaMalloc(&device, N * sizeof(int)));
  CHECK(cudaMalloc(&other, N * sizeof(int)));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  Pipeline pipeline(device, result.data(), 5, (void *)multiply, 3, &flag);
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, pipeline.graph, 0));
  run(exec, stream, result, 15, "as made");

  // Node by node; the graph stays as it was, and so do launches under way.
  int value = 7;
  void *fillArgs[] = {&device, &value, &n};
  cudaKernelNodeParams params = kernel((void *)fill, fillArgs);
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaGraphExecKernelNodeSetParams(exec, pipeline.fill, &params));
  CHECK(cudaStreamSynchronize(stream));
  REQUIRE(result[0] == 15, "the launch before the change gave %d", result[0]);
  run(exec, stream, result, 21, "another value");
  CHECK(cudaGraphExecMemcpyNodeSetParams1D(exec, pipeline.copy, elsewhere.data(), device,
      N * sizeof(int), cudaMemcpyDeviceToHost));
  cudaHostNodeParams call = {set_flag, &otherFlag};
  CHECK(cudaGraphExecHostNodeSetParams(exec, pipeline.host, &call));
  int before = flag;
  run(exec, stream, elsewhere, 21, "another place");
  REQUIRE(flag == before && otherFlag == 1, "flags %d and %d", flag, otherFlag);
  cudaKernelNodeParams read = {};
  CHECK(cudaGraphKernelNodeGetParams(pipeline.fill, &read));
  REQUIRE(*static_cast<int *>(read.kernelParams[1]) == 5, "the graph itself was changed");

  // A node that is switched off passes its place on.
  unsigned enabled;
  CHECK(cudaGraphNodeSetEnabled(exec, pipeline.change, 0));
  CHECK(cudaGraphNodeGetEnabled(exec, pipeline.change, &enabled));
  REQUIRE(enabled == 0, "the node is still enabled");
  run(exec, stream, elsewhere, 7, "without multiplication");
  CHECK(cudaGraphNodeSetEnabled(exec, pipeline.change, 1));
  run(exec, stream, elsewhere, 21, "with multiplication again");
  EXPECT(cudaErrorInvalidValue, cudaGraphNodeSetEnabled(exec, pipeline.host, 0));
  cudaGetLastError();

  // The whole graph: other parameters, another kernel.
  Pipeline different(device, result.data(), 100, (void *)subtract, 1, &flag);
  cudaGraphExecUpdateResultInfo info;
  CHECK(cudaGraphExecUpdate(exec, different.graph, &info));
  REQUIRE(info.result == cudaGraphExecUpdateSuccess, "update result %d", info.result);
  run(exec, stream, result, 99, "updated as a whole");

  // Captured again, as training loops do.
  for (int round = 0; round < 4; round++) {
    cudaGraph_t again;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    fill<<<(N + 127) / 128, 128, 0, stream>>>(device, round, N);
    multiply<<<(N + 127) / 128, 128, 0, stream>>>(device, 10, N);
    CHECK(cudaMemcpyAsync(result.data(), device, N * sizeof(int), cudaMemcpyDefault, stream));
    CHECK(cudaLaunchHostFunc(stream, set_flag, &flag));
    CHECK(cudaStreamEndCapture(stream, &again));
    CHECK(cudaGraphExecUpdate(exec, again, &info));
    CHECK(cudaGraphDestroy(again));
    run(exec, stream, result, 10 * round, "captured again");
  }

  // A graph of another shape, or with other kinds of nodes, does not fit, and changes nothing.
  cudaGraphNode_t extra;
  CHECK(cudaGraphAddEmptyNode(&extra, different.graph, &different.host, 1));
  EXPECT(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(exec, different.graph, &info));
  REQUIRE(info.result == cudaGraphExecUpdateErrorTopologyChanged, "update result %d", info.result);
  cudaGraph_t kinds;
  cudaGraphNode_t a, b, c, d;
  CHECK(cudaGraphCreate(&kinds, 0));
  cudaMemsetParams zero = {};
  zero.dst = device;
  zero.elementSize = 4;
  zero.width = N;
  zero.height = 1;
  CHECK(cudaGraphAddMemsetNode(&a, kinds, nullptr, 0, &zero));
  CHECK(cudaGraphAddMemsetNode(&b, kinds, &a, 1, &zero));
  CHECK(cudaGraphAddMemcpyNode1D(
      &c, kinds, &b, 1, result.data(), device, N * sizeof(int), cudaMemcpyDeviceToHost));
  CHECK(cudaGraphAddHostNode(&d, kinds, &c, 1, &call));
  EXPECT(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(exec, kinds, &info));
  REQUIRE(info.result == cudaGraphExecUpdateErrorNodeTypeChanged && info.errorNode == b,
      "update result %d", info.result);
  cudaGetLastError();
  run(exec, stream, result, 30, "after updates that failed");

  // A child graph, changed from outside.
  cudaGraph_t parent;
  cudaGraphNode_t child;
  cudaGraphExec_t parentExec;
  CHECK(cudaGraphCreate(&parent, 0));
  CHECK(cudaGraphAddChildGraphNode(&child, parent, nullptr, 0, pipeline.graph));
  CHECK(cudaGraphInstantiate(&parentExec, parent, 0));
  run(parentExec, stream, result, 15, "a child graph");
  Pipeline newChild(device, result.data(), 4, (void *)multiply, 4, &flag);
  CHECK(cudaGraphExecChildGraphNodeSetParams(parentExec, child, newChild.graph));
  run(parentExec, stream, result, 16, "a child graph changed");

  // Events in a graph: another stream waits for the middle of a launch.
  cudaGraph_t marked;
  cudaGraphNode_t first, mark, second;
  cudaEvent_t event;
  cudaGraphExec_t markedExec;
  CHECK(cudaEventCreate(&event));
  CHECK(cudaGraphCreate(&marked, 0));
  params = kernel((void *)fill, fillArgs);
  CHECK(cudaGraphAddKernelNode(&first, marked, nullptr, 0, &params));
  CHECK(cudaGraphAddEventRecordNode(&mark, marked, &first, 1, event));
  void *otherArgs[] = {&other, &value, &n};
  params = kernel((void *)fill, otherArgs);
  CHECK(cudaGraphAddKernelNode(&second, marked, &mark, 1, &params));
  CHECK(cudaGraphInstantiate(&markedExec, marked, 0));
  CHECK(cudaMemset(device, 0, N * sizeof(int)));
  CHECK(cudaGraphLaunch(markedExec, stream));
  CHECK(cudaEventSynchronize(event));
  REQUIRE(host_copy(device, N)[N - 1] == 7, "the event came before the kernel");

  // A picture of it, for Graphviz.
  std::string path = std::string(P_tmpdir) + "/graph_update." + std::to_string(getpid()) + ".dot";
  CHECK(cudaGraphDebugDotPrint(marked, path.c_str(), cudaGraphDebugDotFlagsVerbose));
  std::FILE *dot = std::fopen(path.c_str(), "r");
  REQUIRE(dot, "no file %s", path.c_str());
  char text[8192];
  text[std::fread(text, 1, sizeof text - 1, dot)] = 0;
  std::fclose(dot);
  std::remove(path.c_str());
  REQUIRE(std::strstr(text, "digraph") && std::strstr(text, "->") && std::strstr(text, "fill"),
      "the picture is %s", text);

  for (cudaGraphExec_t each : {exec, parentExec, markedExec}) CHECK(cudaGraphExecDestroy(each));
  for (cudaGraph_t each : {pipeline.graph, different.graph, newChild.graph, kinds, parent, marked})
    CHECK(cudaGraphDestroy(each));
  CHECK(cudaEventDestroy(event));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(device));
  CHECK(cudaFree(other));
  return ok("node by node, as a whole, switched off and on");
}
