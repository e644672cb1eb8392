// SPDX-License-Identifier: Apache-2.0
// A program with sessions on several servers: what goes over which connection. The workers are of this process and know
// nothing of each other, so that tickets and copies between them are seen, not carried out.
#include "harness.h"
#include "peer.h"
#include "shim.h"

#include <stdatomic.h>

#include "exports.h"

enum { CONNECTIONS = 2, MAX_SEEN = 64 };

static struct peer peer;

/** The frames that order connections, as they came. */
static struct {
  uint16_t op;
  uint32_t connection;
  uint64_t slot[5];
} seen[CONNECTIONS][MAX_SEEN];
static _Atomic uint32_t seenCount[CONNECTIONS];
static uint16_t firstOp[CONNECTIONS];

static bool watch(struct peer_session *session, const struct frame *frame) {
  uint32_t connection = session->connection;
  if (!firstOp[connection]) firstOp[connection] = frame->op;
  if (frame->op == OP_settle) peer_reply(session, frame, 0, NULL, 0);
  if (frame->op < OP_connections || frame->op > OP_peerPull) return false;
  uint32_t at = seenCount[connection];
  if (at == MAX_SEEN) return true;
  seen[connection][at].op = frame->op;
  seen[connection][at].connection = connection;
  size_t bytes = frame->length - 8u, most = sizeof seen[connection][at].slot;
  if (bytes > most) bytes = most;
  memcpy(seen[connection][at].slot, frame->slot, bytes);
  atomic_store_explicit(&seenCount[connection], at + 1, memory_order_release);
  return true;
}

static CUcontext contexts_of[CONNECTIONS];

static void begin(void) {
  peer.connections = CONNECTIONS;
  peer.handler = watch;
  peer_start(&peer);
  CHECK_OK(cuInit(0));
  for (int device = CONNECTIONS - 1; device >= 0; device--) {
    CHECK_OK(cuDevicePrimaryCtxRetain(&contexts_of[device], device));
    CHECK_OK(cuCtxSetCurrent(contexts_of[device]));
  }
}

/** Waits until all that was posted has been seen. */
static void settle(void) {
  for (int device = CONNECTIONS - 1; device >= 0; device--) {
    CHECK_OK(cuCtxSetCurrent(contexts_of[device]));
    CHECK_OK(cuCtxSynchronize());
  }
}

static CUdeviceptr allocate(int device, size_t bytes) {
  CUdeviceptr address;
  CHECK_OK(cuCtxSetCurrent(contexts_of[device]));
  CHECK_OK(cuMemAlloc_v2(&address, bytes));
  return address;
}

static void devices_ofSeveralConnections_followEachOther(void) {
  begin();
  int count = 0, reaches = 1;
  char first[16], second[16];
  CHECK_OK(cuDeviceGetCount(&count));
  CHECK(count == CONNECTIONS);
  CHECK_OK(cuDeviceGetPCIBusId(first, sizeof first, 0));
  CHECK_OK(cuDeviceGetPCIBusId(second, sizeof second, 1));
  CHECK(strcmp(first, second) != 0);
  CHECK_OK(cuDeviceCanAccessPeer(&reaches, 0, 1));
  CHECK(reaches == 0);
  CHECK_RESULT(217, cuCtxEnablePeerAccess(contexts_of[1], 0));
  settle();
  CHECK(firstOp[0] == OP_connections && firstOp[1] == OP_connections);
  CHECK(seen[0][0].slot[0] == 0 && seen[1][0].slot[0] == 1);
}

static void visibleDevices_ofAllConnections_areChosen(void) {
  setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  peer.connections = CONNECTIONS;
  peer.handler = watch;
  peer_start(&peer);
  int count = 0;
  CUdeviceptr memory;
  CHECK_OK(cuInit(0));
  CHECK_OK(cuDeviceGetCount(&count));
  CHECK(count == 1);
  CHECK_OK(cuDevicePrimaryCtxRetain(&contexts_of[0], 0));
  CHECK_OK(cuCtxSetCurrent(contexts_of[0]));
  CHECK_OK(cuMemAlloc_v2(&memory, 64));
}

static void kernels_ofOneLibrary_runOnTheConnectionOfTheirContext(void) {
  begin();
  CUlibrary library;
  CUkernel kernel;
  CHECK_OK(cuLibraryLoadData(&library, "a kernel", NULL, NULL, 0, NULL, NULL, 0));
  CHECK_OK(cuLibraryGetKernel(&kernel, library, "store"));
  for (int device = 0; device < CONNECTIONS; device++) {
    CUdeviceptr memory = allocate(device, 4);
    uint32_t value = 40u + (uint32_t)device, back = 0;
    void *parameters[] = {&memory, &value};
    CHECK_OK(cuLaunchKernel((CUfunction)(void *)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    CHECK_OK(cuMemcpyDtoH_v2(&back, memory, 4));
    CHECK(back == value);
  }
}

static void waitForEvent_ofAnotherConnection_isATicket(void) {
  begin();
  CUevent event;
  CUstream stream;
  CHECK_OK(cuCtxSetCurrent(contexts_of[1]));
  CHECK_OK(cuEventCreate(&event, 2));
  CHECK_OK(cuEventRecord(event, NULL));
  CHECK_OK(cuCtxSetCurrent(contexts_of[0]));
  CHECK_OK(cuStreamCreate(&stream, 1));
  CHECK_RESULT(400, cuEventRecord(event, stream));
  CHECK_OK(cuStreamWaitEvent(stream, event, 0));
  settle();
  CHECK(seenCount[0] == 2 && seenCount[1] == 2);
  CHECK(seen[1][1].op == OP_fenceSend && seen[0][1].op == OP_fenceWait);
  CHECK(seen[1][1].slot[1] == seen[0][1].slot[1]);  // the ticket
  CHECK(seen[1][1].slot[2] == 0 && seen[0][1].slot[2] == 1);
}

static void copy_betweenConnections_isAPullAtTheDestination(void) {
  begin();
  CUdeviceptr from = allocate(0, 4096), to = allocate(1, 4096);
  CUstream stream;
  CHECK_OK(cuCtxSetCurrent(contexts_of[1]));
  CHECK_OK(cuStreamCreate(&stream, 1));
  CHECK_OK(cuMemcpyPeerAsync(to, contexts_of[1], from, contexts_of[0], 4096, stream));
  CHECK_RESULT(1, cuMemcpyPeerAsync(to, contexts_of[1], from, contexts_of[0], 4097, stream));
  settle();
  CHECK(seenCount[0] == 2 && seenCount[1] == 2);
  CHECK(seen[0][1].op == OP_peerAllow && seen[1][1].op == OP_peerPull);
  CHECK(seen[0][1].slot[0] == seen[1][1].slot[0]);  // the ticket
  CHECK(seen[0][1].slot[2] == from && seen[1][1].slot[2] == to);
  // In a stream of the source the pull stands between two tickets.
  CHECK_OK(cuCtxSetCurrent(contexts_of[0]));
  CHECK_OK(cuMemcpyAsync(to, from, 4096, NULL));
  settle();
  CHECK(seenCount[0] == 5 && seenCount[1] == 5);
  CHECK(seen[0][2].op == OP_fenceMark && seen[1][2].op == OP_fenceWait);
  CHECK(seen[0][3].op == OP_peerAllow && seen[1][3].op == OP_peerPull);
  CHECK(seen[1][4].op == OP_fenceMark && seen[0][4].op == OP_fenceWait);
}

static void memory_ofAnotherConnection_isWrittenAndReadThere(void) {
  begin();
  enum { BYTES = 100000 };
  CUdeviceptr there = allocate(1, BYTES);
  uint8_t out[BYTES], in[BYTES] = {0};
  for (int i = 0; i < BYTES; i++) out[i] = (uint8_t)(i * 31);
  CHECK_OK(cuCtxSetCurrent(contexts_of[0]));
  CHECK_OK(cuMemcpyHtoD_v2(there, out, BYTES));
  CHECK_OK(cuMemsetD8_v2(there, 9, 10));
  CHECK_OK(cuMemcpyDtoH_v2(in, there, BYTES));
  memset(out, 9, 10);
  CHECK(memcmp(in, out, BYTES) == 0);
  CHECK_OK(cuMemFree_v2(there));
}

static bool hang_up(struct peer_session *session, const struct frame *frame) {
  if (frame->op == OP_ctxSynchronize && session->connection == 1) shutdown(session->stream, SHUT_RDWR);
  return frame->op == OP_ctxSynchronize;
}

static void connection_lost_isTheEndOfAll(void) {
  begin();
  peer.handler = hang_up;
  CHECK_OK(cuCtxSetCurrent(contexts_of[1]));
  CHECK_RESULT(46, cuCtxSynchronize());
  cuCtxSetCurrent(contexts_of[0]);
  CHECK_RESULT(46, cuCtxSynchronize());
}

static void *lose_the_other(void *nothing) {
  usleep(100000);
  cuCtxSetCurrent(contexts_of[1]);
  cuCtxSynchronize();
  return nothing;
}

static void connection_lostWhileAnotherIsWaitedFor_endsTheWait(void) {
  begin();
  peer.handler = hang_up;
  pthread_t thread;
  CHECK_OK(cuCtxSetCurrent(contexts_of[0]));
  CHECK_OK(pthread_create(&thread, NULL, lose_the_other, NULL));
  CHECK_RESULT(46, cuCtxSynchronize());
  CHECK_OK(pthread_join(thread, NULL));
}

int main(void) {
  CASE(devices_ofSeveralConnections_followEachOther);
  CASE(visibleDevices_ofAllConnections_areChosen);
  CASE(kernels_ofOneLibrary_runOnTheConnectionOfTheirContext);
  CASE(waitForEvent_ofAnotherConnection_isATicket);
  CASE(copy_betweenConnections_isAPullAtTheDestination);
  CASE(memory_ofAnotherConnection_isWrittenAndReadThere);
  CASE(connection_lost_isTheEndOfAll);
  CASE(connection_lostWhileAnotherIsWaitedFor_endsTheWait);
  return test_result();
}
