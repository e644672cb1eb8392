// SPDX-License-Identifier: Apache-2.0
// Graphs that wait for values in memory and write them: captured, and as nodes of the driver API.
#include "driver_entry.h"

__global__ void copy_when_set(const unsigned *flag, unsigned *seen) { *seen = *flag; }

static unsigned value_of(const unsigned *device) { return host_copy(device, 1)[0]; }

int main() {
  unsigned *flag, *seen;
  CHECK(cudaMalloc(&flag, sizeof *flag));
  CHECK(cudaMalloc(&seen, sizeof *seen));
  CHECK(cudaMemset(flag, 0, sizeof *flag));
  CHECK(cudaMemset(seen, 0, sizeof *seen));
  CHECK(cudaDeviceSynchronize());
  CUdeviceptr address = reinterpret_cast<CUdeviceptr>(flag);
  cudaStream_t stream, other;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));

  // Captured: the launch stands still until another stream has written what it waits for.
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  DRIVER(ENTRY(cuStreamWaitValue32)(stream, address, 5, CU_STREAM_WAIT_VALUE_EQ));
  copy_when_set<<<1, 1, 0, stream>>>(flag, seen);
  DRIVER(ENTRY(cuStreamWriteValue32)(stream, address, 9, CU_STREAM_WRITE_VALUE_DEFAULT));
  CHECK(cudaStreamEndCapture(stream, &graph));
  size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  REQUIRE(nodes == 3, "%zu nodes", nodes);
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int round = 0; round < 3; round++) {
    CHECK(cudaMemsetAsync(seen, 0, sizeof *seen, other));
    CHECK(cudaStreamSynchronize(other));
    CHECK(cudaGraphLaunch(exec, stream));
    EXPECT(cudaErrorNotReady, cudaStreamQuery(stream));
    DRIVER(ENTRY(cuStreamWriteValue32)(other, address, 5, CU_STREAM_WRITE_VALUE_DEFAULT));
    CHECK(cudaStreamSynchronize(stream));
    REQUIRE(value_of(seen) == 5 && value_of(flag) == 9, "saw %u, left %u", value_of(seen),
        value_of(flag));
  }
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));

  // As a node.
  CUstreamBatchMemOpParams write = {};
  write.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  write.writeValue.address = address;
  write.writeValue.value = 70;
  CUDA_BATCH_MEM_OP_NODE_PARAMS params = {}, read = {};
  params.count = 1;
  params.paramArray = &write;
  cudaGraphNode_t node;
  CHECK(cudaGraphCreate(&graph, 0));
  DRIVER(ENTRY(cuGraphAddBatchMemOpNode)(&node, graph, nullptr, 0, &params));
  DRIVER(ENTRY(cuGraphBatchMemOpNodeGetParams)(node, &read));
  REQUIRE(read.count == 1 && read.paramArray[0].writeValue.value == 70, "the node's parameters");
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  REQUIRE(value_of(flag) == 70, "the node left %u", value_of(flag));
  write.writeValue.value = 71;
  DRIVER(ENTRY(cuGraphExecBatchMemOpNodeSetParams)(exec, node, &params));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  REQUIRE(value_of(flag) == 71, "the changed node left %u", value_of(flag));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  for (cudaStream_t each : {stream, other}) CHECK(cudaStreamDestroy(each));
  CHECK(cudaFree(flag));
  CHECK(cudaFree(seen));
  return ok("values waited for and written in graphs");
}
