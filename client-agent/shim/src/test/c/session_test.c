// SPDX-License-Identifier: Apache-2.0
// Contexts, handles and errors, through the exported entry points, against a peer in this process.
#include "harness.h"
#include "peer_context.h"
#include "shim.h"

#include "exports.h"

static void handles_staleOrWild_areRefused(void) {
  CUcontext context = begin();
  CUstream stream;
  CUevent event;
  CHECK_OK(cuStreamCreate(&stream, 0));
  CHECK_OK(cuStreamDestroy_v2(stream));
  CHECK_RESULT(400, cuStreamDestroy_v2(stream));
  CHECK_RESULT(400, cuStreamSynchronize(stream));
  CHECK_RESULT(400, cuStreamSynchronize((CUstream)0x1234));
  CHECK_RESULT(400, cuStreamSynchronize((CUstream)((char *)stream + 8)));
  CHECK_OK(cuEventCreate(&event, 0));
  CHECK_RESULT(400, cuStreamSynchronize((CUstream)event));
  CHECK_OK(cuEventDestroy_v2(event));
  CHECK_RESULT(400, cuEventRecord(event, NULL));
  CHECK_RESULT(201, cuCtxSetCurrent((CUcontext)0x40));
  CUcontext created;
  CHECK_OK(cuCtxCreate_v2(&created, 0, 0));
  CHECK_OK(cuStreamCreate(&stream, 0));
  CHECK_OK(cuCtxPushCurrent_v2(created));
  CHECK_OK(cuCtxDestroy_v2(created));
  CHECK_RESULT(709, cuCtxSynchronize());
  CHECK_OK(cuCtxSetCurrent(context));
  CHECK_RESULT(400, cuStreamSynchronize(stream));
  CHECK_OK(cuCtxSynchronize());
}

static void graphUpdate_ofNoExecutableGraph_reportsAnError(void) {
  enum { UPDATE_ERROR = 1 };
  begin();
  CUgraphNode node = (CUgraphNode)0x40;
  CUgraphExecUpdateResult result = (CUgraphExecUpdateResult)99;
  CHECK_RESULT(1, cuGraphExecUpdate((CUgraphExec)0x40, NULL, &node, &result));
  CHECK(node == NULL && (int)result == UPDATE_ERROR);
}

static bool fail_fences(struct peer_session *session, const struct frame *frame) {
  if (frame->op != OP_ctxSynchronize) return false;
  peer_reply(session, frame, 700, NULL, 0);
  return true;
}

static void error_fatal_sticksToTheContext(void) {
  peer.handler = fail_fences;
  begin();
  CUdeviceptr device;
  CUstream stream;
  CHECK_RESULT(700, cuCtxSynchronize());
  CHECK_RESULT(700, cuMemAlloc_v2(&device, 1));
  CHECK_RESULT(700, cuStreamCreate(&stream, 0));
  CHECK_OK(cuDevicePrimaryCtxReset_v2(0));
  CUcontext context;
  CHECK_OK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK_OK(cuCtxSetCurrent(context));
  CHECK_OK(cuStreamCreate(&stream, 0));
}

static void perThreadStream_isAnotherInEachThread(void) {
  begin();
  unsigned long long first, again, legacy;
  CHECK_OK(cuStreamGetId_ptsz(NULL, &first));
  CHECK_OK(cuStreamGetId((CUstream)2, &again));
  CHECK_OK(cuStreamGetId(NULL, &legacy));
  CHECK(first == again && first != legacy);
  CHECK_OK(cuStreamSynchronize_ptsz(NULL));
}

static void procAddress_givesNewestNotNewer(void) {
  void *function;
  int status = -1;
  CHECK_OK(cuGetProcAddress_v2("cuMemAlloc", &function, 2000, 0, &status));
  CHECK(function == (void *)cuMemAlloc && status == 0);
  CHECK_OK(cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 0, &status));
  CHECK(function == (void *)cuMemAlloc_v2);
  CHECK_OK(cuGetProcAddress_v2("cuStreamSynchronize", &function, 12000, 2, &status));
  CHECK(function == (void *)cuStreamSynchronize_ptsz);
  CHECK_OK(cuGetProcAddress_v2("cuNoSuch", &function, 12000, 0, &status));
  CHECK(function == NULL && status == 1);
  CHECK_OK(cuGetProcAddress_v2("cuLibraryLoadData", &function, 11080, 0, &status));
  CHECK(function == NULL && status == 2);
  function = &status;
  CHECK_RESULT(500, cuGetProcAddress("cuNoSuch", &function, 12000, 0));
  CHECK_RESULT(500, cuGetProcAddress("cuLibraryLoadData", &function, 11080, 0));
  CHECK(function == &status);
  CHECK_OK(cuGetProcAddress("cuGetProcAddress", &function, 11030, 0));
  CHECK(function == (void *)cuGetProcAddress);
  CHECK_OK(cuGetProcAddress("cuGetProcAddress", &function, 13000, 0));
  CHECK(function == (void *)cuGetProcAddress_v2);
}

int main(void) {
  CASE(handles_staleOrWild_areRefused);
  CASE(graphUpdate_ofNoExecutableGraph_reportsAnError);
  CASE(error_fatal_sticksToTheContext);
  CASE(perThreadStream_isAnotherInEachThread);
  CASE(procAddress_givesNewestNotNewer);
  return test_result();
}
