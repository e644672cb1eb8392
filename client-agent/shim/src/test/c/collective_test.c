// SPDX-License-Identifier: Apache-2.0
// NCCL's collectives, groups and graphs of them: what the worker is sent.
#include "collective_peer.h"

static void call_alone_isOneFrame(void) {
  CUstream stream;
  struct communicator *communicator = join();
  CUdeviceptr memory = allocate(sizeof(float) * ELEMENTS);
  CHECK_OK(cuStreamCreate(&stream, 1));
  struct nccl_request request = all_reduce(communicator, memory, stream);
  CHECK_OK(ncclTable.submit(&request));
  settle();
  CHECK(got.count == 1 && got.ops[0] == OP_communicatorCalls && got.callCount == 1);
  CHECK(got.calls[0].kind == COLLECTIVE_ALL_REDUCE && got.calls[0].type == FLOAT && got.calls[0].count == ELEMENTS);
  CHECK(got.calls[0].send == memory && got.calls[0].receive == memory);
}

static void group_inTwoStreams_isOneFrameBetweenEvents(void) {
  static const uint16_t expected[] = {OP_eventRecord, OP_streamWaitEvent, OP_communicatorCalls, OP_eventRecord,
                                      OP_streamWaitEvent};
  CUstream streams[2];
  struct communicator *communicator = join();
  CUdeviceptr memory = allocate(sizeof(float) * ELEMENTS);
  for (int i = 0; i < 2; i++) CHECK_OK(cuStreamCreate(&streams[i], 1));
  CHECK_OK(ncclTable.groupBegin());
  CHECK_OK(ncclTable.groupBegin());
  for (int i = 0; i < 4; i++) {
    struct nccl_request request = all_reduce(communicator, memory, streams[i % 2]);
    CHECK_OK(ncclTable.submit(&request));
  }
  CHECK_OK(ncclTable.groupEnd());
  settle();
  CHECK(got.count == 0);
  CHECK_OK(ncclTable.groupEnd());
  settle();
  CHECK(got.count == 5 && memcmp(got.ops, expected, sizeof expected) == 0 && got.callCount == 4);
  uint32_t first = got.streams[2], other = got.streams[0];
  CHECK(first != other && got.streams[1] == first && got.streams[3] == first && got.streams[4] == other);
  CHECK_RESULT(NCCL_INVALID_USAGE, ncclTable.groupEnd());
}

static void group_withAnInvalidCall_sendsNothing(void) {
  struct communicator *communicator = join();
  CUdeviceptr memory = allocate(sizeof(float) * ELEMENTS);
  struct nccl_request good = all_reduce(communicator, memory, NULL), bad = good;
  static float host[ELEMENTS];
  bad.send = host;
  CHECK_OK(ncclTable.groupBegin());
  CHECK_OK(ncclTable.submit(&good));
  CHECK_RESULT(NCCL_INVALID_ARGUMENT, ncclTable.submit(&bad));
  CHECK(strstr(ncclTable.lastError(NULL), "is not device memory"));
  CHECK_RESULT(NCCL_INVALID_ARGUMENT, ncclTable.groupEnd());
  settle();
  CHECK(got.count == 0);
  bad = good;
  bad.count = ELEMENTS + 1;
  CHECK_RESULT(NCCL_INVALID_ARGUMENT, ncclTable.submit(&bad));
  bad = good;
  bad.type = 12;
  CHECK_RESULT(NCCL_INVALID_ARGUMENT, ncclTable.submit(&bad));
  bad = good;
  bad.operation = 5;
  CHECK_RESULT(NCCL_INVALID_ARGUMENT, ncclTable.submit(&bad));
  bad = good;
  bad.kind = NCCL_BROADCAST;
  bad.peer = RANKS;
  CHECK_RESULT(NCCL_INVALID_ARGUMENT, ncclTable.submit(&bad));
}

/** Of this rank's memory to all ranks of a communicator that it has joined. */
static struct nccl_request scatter_of_all(void) {
  struct communicator *communicator = join();
  struct nccl_request request = all_reduce(communicator, allocate(sizeof(float) * ELEMENTS * RANKS), NULL);
  request.kind = NCCL_SCATTER;
  request.peer = RANK;
  return request;
}

static void scatter_atItsRoot_isTransfersToAll(void) {
  struct nccl_request request = scatter_of_all();
  CUdeviceptr memory = (uintptr_t)request.send;
  CHECK_OK(ncclTable.submit(&request));
  settle();
  CHECK(got.count == 1 && got.callCount == RANKS + 1 && got.calls[0].kind == COLLECTIVE_RECEIVE);
  for (uint32_t i = 0; i < RANKS; i++) {
    const struct collective_call *call = &got.calls[i + 1];
    CHECK(call->kind == COLLECTIVE_SEND && call->peer == i && call->send == memory + i * sizeof(float) * ELEMENTS);
  }
}

static void transfers_withAPeer_connectBeforeTheFirst(void) {
  struct nccl_request request = scatter_of_all();
  progress = 2;
  CHECK_OK(ncclTable.submit(&request));
  settle();
  // Not with itself, and nothing is sent before the server has said that they are connected.
  CHECK(progress == 0 && got.connected == RANKS - 1);
  for (uint32_t i = 0, at = 0; i < RANKS; i++) {
    if (i != RANK) CHECK(got.connections[at++] == i * 2);
  }
  got.connected = 0;
  CHECK_OK(ncclTable.submit(&request));
  settle();
  CHECK(got.count == 2 && got.connected == 0);
}

static void operator_thatMultiplies_goesWithItsScalar(void) {
  uint16_t two = 0x4000;
  int operator;
  struct communicator *communicator = join();
  CUdeviceptr memory = allocate(sizeof(float) * ELEMENTS);
  struct nccl_request request = all_reduce(communicator, memory, NULL);
  CHECK_OK(ncclTable.operatorMake(&operator, &two, HALF, 1, communicator));
  CHECK(operator == NCCL_OPERATORS);
  request.operation = operator;
  CHECK_RESULT(NCCL_INVALID_ARGUMENT, ncclTable.submit(&request));
  request.type = HALF;
  CHECK_OK(ncclTable.submit(&request));
  settle();
  CHECK(got.calls[0].operation == REDUCE_PRE_MULTIPLIED_SUM && got.calls[0].scalar == two);
  CHECK_OK(ncclTable.operatorEnd(operator, communicator));
  CHECK_RESULT(NCCL_INVALID_ARGUMENT, ncclTable.submit(&request));
}

static void graph_withOtherCollectives_isUpdated(void) {
  CUstream stream;
  CUgraph graphs[2];
  CUgraphExec executable;
  CUgraphNode errorNode;
  CUgraphExecUpdateResult updated;
  struct communicator *communicator = join();
  CUdeviceptr memory = allocate(sizeof(float) * ELEMENTS);
  CHECK_OK(cuStreamCreate(&stream, 1));
  for (uint32_t i = 0; i < 2; i++) {
    struct nccl_request request = all_reduce(communicator, memory, stream);
    request.count = ELEMENTS - i;
    CHECK_OK(cuStreamBeginCapture_v2(stream, 2));
    CHECK_OK(ncclTable.submit(&request));
    CHECK_OK(cuStreamEndCapture(stream, &graphs[i]));
  }
  CHECK_OK(cuGraphInstantiateWithFlags(&executable, graphs[0], 0));
  CHECK_OK(cuGraphExecUpdate(executable, graphs[1], &errorNode, &updated));
  for (int i = 0; i < 2; i++) CHECK_OK(cuGraphDestroy(graphs[i]));
  CHECK_OK(cuGraphLaunch(executable, stream));
  settle();
  CHECK(got.callCount == 1 && got.calls[0].count == ELEMENTS - 1);
}

static void capture_ofAGroup_isSentByEachLaunch(void) {
  CUstream stream;
  CUgraph graph;
  CUgraphExec executable;
  CUgraphNode node;
  CUgraphNodeType type;
  size_t nodes = 1;
  struct communicator *communicator = join();
  CUdeviceptr memory = allocate(sizeof(float) * ELEMENTS);
  CHECK_OK(cuStreamCreate(&stream, 1));
  CHECK_OK(cuStreamBeginCapture_v2(stream, 2));
  struct nccl_request request = all_reduce(communicator, memory, stream);
  CHECK_OK(ncclTable.submit(&request));
  CHECK_OK(cuStreamEndCapture(stream, &graph));
  CHECK_OK(cuGraphGetNodes(graph, &node, &nodes));
  CHECK_OK(cuGraphNodeGetType(node, &type));
  CHECK(nodes == 1 && type == NODE_HOST);
  CHECK_OK(cuGraphInstantiateWithFlags(&executable, graph, 0));
  CHECK_OK(cuGraphDestroy(graph));
  settle();
  uint32_t frames = 0;
  for (uint32_t i = 0; i < got.count; i++) frames += got.ops[i] == OP_communicatorCalls;
  CHECK(frames == 0);
  for (int i = 0; i < 3; i++) CHECK_OK(cuGraphLaunch(executable, stream));
  settle();
  for (uint32_t i = 0; i < got.count; i++) frames += got.ops[i] == OP_communicatorCalls;
  CHECK(frames == 3 && got.callCount == 1 && got.calls[0].send == memory);
  CHECK_OK(ncclTable.destroy(communicator));
  CHECK_RESULT(CUDA_ERROR_INVALID_HANDLE, cuGraphLaunch(executable, stream));
  CHECK_OK(cuGraphExecDestroy(executable));
}

int main(void) {
  CASE(call_alone_isOneFrame);
  CASE(group_inTwoStreams_isOneFrameBetweenEvents);
  CASE(group_withAnInvalidCall_sendsNothing);
  CASE(scatter_atItsRoot_isTransfersToAll);
  CASE(transfers_withAPeer_connectBeforeTheFirst);
  CASE(operator_thatMultiplies_goesWithItsScalar);
  CASE(graph_withOtherCollectives_isUpdated);
  CASE(capture_ofAGroup_isSentByEachLaunch);
  return test_result();
}
