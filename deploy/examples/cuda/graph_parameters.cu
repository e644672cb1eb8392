// SPDX-License-Identifier: Apache-2.0
// The parameters of a kernel node as cudaGraphKernelNodeGetParams gives them: used again after the node was set with
// those very pointers, for the node and for the executable graph.
#include "check.h"

__global__ void store(int *to, int value, double factor) { *to = static_cast<int>(value * factor); }

int main() {
  int *result;
  CHECK(cudaMalloc(&result, sizeof *result));
  int value = 3;
  double factor = 2;
  void *arguments[] = {&result, &value, &factor};
  cudaKernelNodeParams params = {};
  params.func = reinterpret_cast<void *>(store);
  params.gridDim = params.blockDim = dim3(1);
  params.kernelParams = arguments;
  cudaGraph_t graph;
  cudaGraphNode_t node;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
  cudaGraphExec_t executable;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));

  cudaKernelNodeParams told = {};
  CHECK(cudaGraphKernelNodeGetParams(node, &told));
  int count = 0;
  for (int i = 5; i < 25; i++) {
    int square = i * i;
    told.kernelParams[1] = &square;
    CHECK(cudaGraphKernelNodeSetParams(node, &told));
    CHECK(cudaGraphExecKernelNodeSetParams(executable, node, &told));
    CHECK(cudaGraphLaunch(executable, nullptr));
    int got = 0;
    CHECK(cudaMemcpy(&got, result, sizeof got, cudaMemcpyDeviceToHost));
    REQUIRE(got == 2 * square, "%d came out for %d", got, square);
    // The node has its own copy, to which the same pointers lead.
    square = -1;
    int kept = *static_cast<int *>(told.kernelParams[1]);
    REQUIRE(kept == i * i, "the node has %d for %d", kept, i * i);
    count++;
  }

  cudaGraph_t clone;
  cudaGraphNode_t same;
  told.kernelParams[1] = nullptr;
  CHECK(cudaGraphClone(&clone, graph));
  CHECK(cudaGraphNodeFindInClone(&same, node, clone));
  cudaKernelNodeParams copied = {};
  CHECK(cudaGraphKernelNodeGetParams(same, &copied));
  int last = *static_cast<int *>(copied.kernelParams[1]);
  REQUIRE(last == 24 * 24, "the copy of the node has %d", last);
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(clone));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaFree(result));
  return ok("a node set %d times with the pointers it gave out", count);
}
