// SPDX-License-Identifier: Apache-2.0
// Page-locked memory, which program and worker have both mapped where they are on one machine.
#include "peer_context.h"
#include "transport/stream_terms.h"

#include <sys/resource.h>

enum { LONG = 40 << 20, SHORT = 1 << 20 };

static CUdeviceptr device_of(size_t bytes) {
  CUdeviceptr device;
  CHECK_OK(cuMemAlloc_v2(&device, bytes));
  return device;
}

static uint8_t *locked_of(size_t bytes) {
  void *memory;
  CHECK_OK(cuMemHostAlloc(&memory, bytes, 0));
  return memory;
}

static void copies_ofLockedMemory_areMadeWhereItLies(void) {
  begin();
  CUdeviceptr device = device_of(LONG);
  uint8_t *from = locked_of(LONG), *to = locked_of(LONG);
  for (int i = 0; i < LONG; i++) from[i] = (uint8_t)(i * 7 + i / 1000);
  CHECK_OK(cuMemcpyHtoD_v2(device, from, LONG));
  CHECK_OK(cuMemcpyDtoH_v2(to, device, LONG));
  CHECK(memcmp(from, to, LONG) == 0);
  CHECK_OK(cuMemcpyDtoH_v2(to + 5, device + 100, 3));
  CHECK(memcmp(to + 5, from + 100, 3) == 0);
  // 32 MiB at most, each
  CHECK(atomic_load(&peerSharedCopies) == (peer_shares() ? 5 : 0));
  CHECK_RESULT(1, cuMemcpyHtoD_v2(device + 1, from, LONG));
}

static void copies_inOneStream_keepTheirOrder(void) {
  begin();
  CUstream stream;
  CUdeviceptr device = device_of(SHORT), other = device_of(SHORT);
  uint8_t *memory = locked_of(SHORT), back[64 * 16];
  CHECK_OK(cuStreamCreate(&stream, 1));
  for (int round = 1; round < 100; round++) {
    CHECK_OK(cuMemsetD8Async(device, (unsigned char)round, SHORT, stream));
    CHECK_OK(cuMemcpyDtoHAsync_v2(memory, device, SHORT, stream));
    // Short ones, and rows, are sent: only when their source is there.
    CHECK_OK(cuMemcpyHtoDAsync_v2(other, memory, 100, stream));
    struct CUDA_MEMCPY2D rows = {.srcMemoryType = 1, .srcHost = memory, .srcPitch = 1000, .dstMemoryType = 2,
                                 .dstDevice = other + 100, .dstPitch = 64, .WidthInBytes = 64, .Height = 16};
    CHECK_OK(cuMemcpy2DAsync_v2(&rows, stream));
    CHECK_OK(cuMemcpyDtoH_v2(back, other, 100));
    CHECK(back[0] == round && back[99] == round);
    CHECK_OK(cuMemcpyDtoH_v2(back, other + 100, sizeof back));
    CHECK(back[0] == round && back[sizeof back - 1] == round);
  }
}

static void locked_memory_comesAndGoes(void) {
  begin();
  CUdeviceptr device = device_of(SHORT);
  for (int round = 0; round < 600; round++) {
    uint8_t *memory = locked_of(SHORT / 8), *other = locked_of(SHORT / 8);
    memory[100] = (uint8_t)round;
    CHECK_OK(cuMemcpyHtoDAsync_v2(device, memory, SHORT / 8, NULL));
    CHECK_OK(cuMemFreeHost(memory));
    CHECK_OK(cuMemcpyDtoH_v2(other, device, SHORT / 8));
    CHECK(other[100] == (uint8_t)round);
    CHECK_OK(cuMemFreeHost(other));
  }
}

static bool refuse(struct peer_session *session, const struct frame *frame) {
  if (frame->op != OP_hostShare) return false;
  peer_reply(session, frame, 801, NULL, 0);
  return true;
}

static void locked_memory_thatAWorkerDoesNotMap_isSent(void) {
  peer.handler = refuse;
  begin();
  CUdeviceptr device = device_of(SHORT);
  uint8_t *from = locked_of(SHORT), *to = locked_of(SHORT);
  memset(from, 3, SHORT);
  CHECK_OK(cuMemcpyHtoD_v2(device, from, SHORT));
  CHECK_OK(cuMemcpyDtoH_v2(to, device, SHORT));
  CHECK(to[0] == 3 && to[SHORT - 1] == 3);
  CHECK(atomic_load(&peerSharedCopies) == 0);
}

static void locked_memory_beyondTheLimitOfFiles_isSent(void) {
  struct rlimit limit = {.rlim_cur = 5 * SHORT, .rlim_max = RLIM_INFINITY};
  CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  begin();
  CUdeviceptr device = device_of(6 * SHORT);
  uint8_t *memory = locked_of(6 * SHORT);
  CHECK_OK(cuMemcpyHtoD_v2(device, memory, 6 * SHORT));
  CHECK_OK(cuMemcpyDtoH_v2(memory, device, 6 * SHORT));
  CHECK(atomic_load(&peerSharedCopies) == 0);
}

static void program_thatMayWriteNoSuchFiles_doesNotOfferToShare(void) {
  struct rlimit limit = {.rlim_cur = SHORT, .rlim_max = RLIM_INFINITY};
  struct text_message request;
  char shares[4];
  text_begin(&request);
  stream_terms_offer(&request);
  text_get(&request, "shares", shares, sizeof shares);
  CHECK(strcmp(shares, "1") == 0);
  CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  text_begin(&request);
  stream_terms_offer(&request);
  text_get(&request, "shares", shares, sizeof shares);
  CHECK(strcmp(shares, "") == 0);
}

static void locked_memory_outlivesItsContext(void) {
  begin();
  CUcontext context;
  CHECK_OK(cuCtxCreate_v2(&context, 0, 0));
  uint8_t *memory = locked_of(SHORT);
  CHECK_OK(cuMemcpyHtoDAsync_v2(device_of(SHORT), memory, SHORT, NULL));
  CHECK_OK(cuCtxDestroy_v2(context));
  memset(memory, 9, SHORT);
  CUcontext primary;
  CHECK_OK(cuDevicePrimaryCtxRetain(&primary, 0));
  CHECK_OK(cuCtxSetCurrent(primary));
  CUdeviceptr device = device_of(SHORT);
  uint8_t last;
  CHECK_OK(cuMemcpyHtoD_v2(device, memory, SHORT));
  CHECK_OK(cuMemcpyDtoH_v2(&last, device + SHORT - 1, 1));
  CHECK(last == 9);
  CHECK_OK(cuMemFreeHost(memory));
}

int main(void) {
  CASE(copies_ofLockedMemory_areMadeWhereItLies);
  CASE(copies_inOneStream_keepTheirOrder);
  CASE(locked_memory_comesAndGoes);
  CASE(locked_memory_thatAWorkerDoesNotMap_isSent);
  CASE(locked_memory_beyondTheLimitOfFiles_isSent);
  CASE(program_thatMayWriteNoSuchFiles_doesNotOfferToShare);
  CASE(locked_memory_outlivesItsContext);
  return test_result();
}
