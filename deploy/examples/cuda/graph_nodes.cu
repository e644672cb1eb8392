// SPDX-License-Identifier: Apache-2.0
// A graph built node by node: every kind of work, its parameters read back, its edges walked and
// changed, a clone, and one that cannot be because it goes in circles.
#include <algorithm>
#include <set>

#include "check.h"

static const int N = 4096;

__global__ void square(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * in[i];
}

__global__ void sum(const int *in, unsigned long long *total, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(total, (unsigned long long)in[i]);
}

static void CUDART_CB count(void *data) { ++*static_cast<int *>(data); }

static cudaGraphNode_t kernel(cudaGraph_t graph, std::vector<cudaGraphNode_t> after, void *function,
    dim3 grid, void **args) {
  cudaKernelNodeParams params = {};
  params.func = function;
  params.gridDim = grid;
  params.blockDim = dim3(256);
  params.kernelParams = args;
  cudaGraphNode_t node;
  CHECK(cudaGraphAddKernelNode(&node, graph, after.data(), after.size(), &params));
  return node;
}

int main() {
  std::vector<int> in(N);
  Numbers numbers(7);
  unsigned long long expected = 0;
  for (int &value : in) {
    value = static_cast<int>(numbers.next() % 1000);
    expected += (unsigned long long)(value * value);
  }
  int *device, *squares, n = N, calls = 0;
  unsigned long long *total, result = 0;
  CHECK(cudaMalloc(&device, N * sizeof(int)));
  CHECK(cudaMalloc(&squares, N * sizeof(int)));
  CHECK(cudaMalloc(&total, sizeof *total));

  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t upload, clear, download, host, empty;
  CHECK(cudaGraphAddMemcpyNode1D(
      &upload, graph, nullptr, 0, device, in.data(), N * sizeof(int), cudaMemcpyHostToDevice));
  cudaMemsetParams zero = {};
  zero.dst = total;
  zero.elementSize = 4;
  zero.width = 2;
  zero.height = 1;
  CHECK(cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &zero));
  void *squareArgs[] = {&device, &squares, &n};
  cudaGraphNode_t first = kernel(graph, {upload}, (void *)square, dim3(N / 256), squareArgs);
  void *sumArgs[] = {&squares, &total, &n};
  cudaGraphNode_t second = kernel(graph, {first, clear}, (void *)sum, dim3(N / 256), sumArgs);
  CHECK(cudaGraphAddEmptyNode(&empty, graph, &second, 1));
  CHECK(cudaGraphAddMemcpyNode1D(
      &download, graph, &empty, 1, &result, total, sizeof result, cudaMemcpyDeviceToHost));
  cudaHostNodeParams callback = {count, &calls};
  CHECK(cudaGraphAddHostNode(&host, graph, &download, 1, &callback));

  // Queries return what was set.
  cudaGraphNodeType type;
  CHECK(cudaGraphNodeGetType(second, &type));
  REQUIRE(type == cudaGraphNodeTypeKernel, "type %d", type);
  cudaKernelNodeParams read = {};
  CHECK(cudaGraphKernelNodeGetParams(first, &read));
  REQUIRE(read.func == (void *)square && read.gridDim.x == N / 256 && read.blockDim.x == 256,
      "kernel node %p, %u blocks", read.func, read.gridDim.x);
  REQUIRE(*static_cast<int **>(read.kernelParams[1]) == squares &&
          *static_cast<int *>(read.kernelParams[2]) == N, "parameters of the kernel node");
  cudaMemsetParams fill = {};
  CHECK(cudaGraphMemsetNodeGetParams(clear, &fill));
  REQUIRE(fill.dst == total && fill.width == 2 && fill.elementSize == 4, "memset node");
  cudaHostNodeParams function = {};
  CHECK(cudaGraphHostNodeGetParams(host, &function));
  REQUIRE(function.fn == count && function.userData == &calls, "host node");

  size_t nodes = 0, roots = 0, edges = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  CHECK(cudaGraphGetRootNodes(graph, nullptr, &roots));
  CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  REQUIRE(nodes == 7 && roots == 2 && edges == 6, "%zu nodes, %zu roots, %zu edges", nodes, roots,
      edges);
  std::vector<cudaGraphNode_t> from(edges), to(edges);
  std::vector<cudaGraphEdgeData> data(edges);
  CHECK(cudaGraphGetEdges(graph, from.data(), to.data(), data.data(), &edges));
  std::set<std::pair<cudaGraphNode_t, cudaGraphNode_t>> all;
  for (size_t i = 0; i < edges; i++) all.insert({from[i], to[i]});
  REQUIRE(all.count({upload, first}) && all.count({first, second}) && all.count({clear, second}) &&
          all.count({second, empty}) && all.count({empty, download}) && all.count({download, host}),
      "the edges are others");
  size_t before = 8;
  cudaGraphNode_t dependencies[8];
  cudaGraphEdgeData dependencyData[8];
  CHECK(cudaGraphNodeGetDependencies(second, dependencies, dependencyData, &before));
  REQUIRE(before == 2 && dependencies[0] == first && dependencies[1] == clear && !dependencies[2],
      "%zu dependencies", before);
  EXPECT(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, &first, &second, nullptr, 1));
  cudaGetLastError();

  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int round = 1; round <= 3; round++) {
    result = 0;
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    REQUIRE(result == expected && calls == round, "%llu, not %llu; %d calls", result, expected,
        calls);
  }

  // A clone is a graph of its own; one without its host node calls no more.
  cudaGraph_t clone;
  cudaGraphNode_t clonedHost;
  CHECK(cudaGraphClone(&clone, graph));
  CHECK(cudaGraphNodeFindInClone(&clonedHost, host, clone));
  REQUIRE(clonedHost != host, "the clone has the node of the original");
  CHECK(cudaGraphDestroyNode(clonedHost));
  CHECK(cudaGraphGetNodes(clone, nullptr, &nodes));
  REQUIRE(nodes == 6, "%zu nodes in the clone", nodes);
  EXPECT(cudaErrorInvalidValue, cudaGraphNodeFindInClone(&clonedHost, host, clone));
  cudaGetLastError();
  cudaGraphExec_t cloneExec;
  CHECK(cudaGraphInstantiate(&cloneExec, clone, 0));
  result = 0;
  CHECK(cudaGraphLaunch(cloneExec, stream));
  CHECK(cudaStreamSynchronize(stream));
  REQUIRE(result == expected && calls == 3, "the clone: %llu, %d calls", result, calls);

  // As a child of another graph, between two copies of its own.
  cudaGraph_t parent, inside;
  cudaGraphNode_t child, last;
  unsigned long long copied = 0;
  CHECK(cudaGraphCreate(&parent, 0));
  CHECK(cudaGraphAddChildGraphNode(&child, parent, nullptr, 0, graph));
  CHECK(cudaGraphAddMemcpyNode1D(&last, parent, &child, 1, &copied, &result, sizeof copied,
      cudaMemcpyHostToHost));
  CHECK(cudaGraphChildGraphNodeGetGraph(child, &inside));
  CHECK(cudaGraphGetNodes(inside, nullptr, &nodes));
  REQUIRE(nodes == 7 && inside != graph, "%zu nodes in the child", nodes);
  cudaGraphExec_t parentExec;
  CHECK(cudaGraphInstantiate(&parentExec, parent, 0));
  result = 0;
  CHECK(cudaGraphLaunch(parentExec, stream));
  CHECK(cudaStreamSynchronize(stream));
  REQUIRE(copied == expected && calls == 4, "the parent: %llu, %d calls", copied, calls);

  // Edges can be taken away and put elsewhere; a circle cannot be run.
  CHECK(cudaGraphRemoveDependencies(graph, &download, &host, nullptr, 1));
  CHECK(cudaGraphAddDependencies(graph, &host, &upload, nullptr, 1));
  CHECK(cudaGraphAddDependencies(graph, &download, &host, nullptr, 1));
  cudaGraphExec_t circle;
  EXPECT(cudaErrorInvalidValue, cudaGraphInstantiate(&circle, graph, 0));
  cudaGetLastError();

  for (cudaGraphExec_t each : {exec, cloneExec, parentExec}) CHECK(cudaGraphExecDestroy(each));
  for (cudaGraph_t each : {graph, clone, parent}) CHECK(cudaGraphDestroy(each));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(device));
  CHECK(cudaFree(squares));
  CHECK(cudaFree(total));
  return ok("sum of squares %llu, seven kinds of nodes", expected);
}
