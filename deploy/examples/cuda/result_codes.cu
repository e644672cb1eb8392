// SPDX-License-Identifier: Apache-2.0
// Results of calls that ask for what cannot be: clusters that do not make up the grid, attributes that there are none
// of, lists without room, a device as its own peer. Nothing runs, and nothing later fails.
#include "driver_entry.h"

__global__ void store(int *to) { *to = 42; }

static int *result;

static int value() {
  int got;
  CHECK(cudaMemcpy(&got, result, sizeof got, cudaMemcpyDeviceToHost));
  return got;
}

static void launch(cudaError_t wanted, unsigned blocks, int id, unsigned x, unsigned y, unsigned z) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(1);
  cudaLaunchAttribute attribute = {};
  attribute.id = static_cast<cudaLaunchAttributeID>(id);
  attribute.val.clusterDim.x = x;
  attribute.val.clusterDim.y = y;
  attribute.val.clusterDim.z = z;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CHECK(cudaMemset(result, 0, sizeof *result));
  EXPECT(wanted, cudaLaunchKernelEx(&config, store, result));
  CHECK(cudaDeviceSynchronize());
  int after = wanted == cudaSuccess ? 42 : 0;
  REQUIRE(value() == after, "%u blocks, attribute %d: %d is stored", blocks, id, value());
}

static void graph_lists() {
  CUgraph graph;
  CUgraphNode node, nodes[2];
  DRIVER(ENTRY(cuGraphCreate)(&graph, 0));
  DRIVER(ENTRY(cuGraphAddEmptyNode)(&node, graph, nullptr, 0));
  size_t count = 0;
  REFUSED(CUDA_ERROR_INVALID_VALUE, ENTRY(cuGraphGetNodes)(graph, nodes, &count));
  REFUSED(CUDA_ERROR_INVALID_VALUE, ENTRY(cuGraphGetRootNodes)(graph, nodes, &count));
  count = 2;
  DRIVER(ENTRY(cuGraphGetNodes)(graph, nodes, &count));
  REQUIRE(count == 1 && nodes[0] == node && !nodes[1], "%zu nodes", count);
  DRIVER(ENTRY(cuGraphGetRootNodes)(graph, nullptr, &count));
  REQUIRE(count == 1, "%zu roots", count);
  DRIVER(ENTRY(cuGraphDestroy)(graph));
}

int main() {
  CHECK(cudaMalloc(&result, sizeof *result));
  const int cluster = cudaLaunchAttributeClusterDimension;
  launch(cudaErrorInvalidClusterSize, 1, cluster, 0, 1, 1);
  launch(cudaErrorInvalidClusterSize, 2, cluster, 2, 0, 1);
  launch(cudaErrorInvalidClusterSize, 2, cluster, 1, 1, 0);
  launch(cudaErrorInvalidClusterSize, 3, cluster, 2, 1, 1);
  launch(cudaErrorInvalidClusterSize, 4, cluster, 1, 2, 1);
  launch(cudaSuccess, 4, cluster, 1, 1, 1);
  launch(cudaErrorInvalidValue, 1, 15, 0, 0, 0);
  launch(cudaErrorInvalidValue, 1, 99, 0, 0, 0);
  int answer;
  REFUSED(CUDA_ERROR_INVALID_DEVICE,
          ENTRY(cuDeviceGetP2PAttribute)(&answer, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0));
  graph_lists();
  CHECK(cudaFree(result));
  return ok("launches, lists of graphs and peers that cannot be");
}
