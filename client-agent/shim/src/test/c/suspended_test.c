// SPDX-License-Identifier: Apache-2.0
// Sessions that are suspended: the program stands still at its next call until they are resumed.
#include "peer_context.h"
#include "transport/connection.h"

#include <stdatomic.h>

enum { WINDOW_SECONDS = 1, WORDS = 1000 };

static CUcontext context;
static CUdeviceptr memory;
static uint32_t words[WORDS], back[WORDS];

static void nap(long millis) { usleep((unsigned)millis * 1000); }

/** Waits until something is so. */
#define AWAIT(condition)                              \
  do {                                                \
    for (int i = 0; i < 1000 && !(condition); i++) nap(10); \
    CHECK(condition);                                 \
  } while (0)

/** Begins with a session, and suspends it: the worker is gone. */
static void begin_suspended(void) {
  peer.resumeWindow = WINDOW_SECONDS;
  context = begin();
  for (uint32_t i = 0; i < WORDS; i++) words[i] = i * 2654435761u;
  CHECK_OK(cuMemAlloc_v2(&memory, sizeof words));
  CHECK_OK(cuMemcpyHtoD_v2(memory, words, sizeof words));
  CHECK_OK(cuCtxSynchronize());
  atomic_store(&peerResume.suspended, true);
  peer_shut(connections[0].stream);
  AWAIT(atomic_load(&peerResume.resumes) == 1);
}

static void check_memory(void) {
  memset(back, 0, sizeof back);
  CHECK_OK(cuMemcpyDtoH_v2(back, memory, sizeof back));
  CHECK(memcmp(words, back, sizeof words) == 0);
}

static void call_thatWaits_wakesTheSession(void) {
  begin_suspended();
  check_memory();
  CHECK(atomic_load(&peerResume.wakes) == 1);
  check_memory();
  CHECK(atomic_load(&peerResume.resumes) == 1);
}

static void call_thatIsPosted_wakesTheSession(void) {
  begin_suspended();
  CHECK_OK(cuMemsetD32Async(memory, 7, 1, NULL));
  AWAIT(atomic_load(&peerResume.wakes) == 1);
  words[0] = 7;
  check_memory();
}

static void largeCopy_wakesTheSession(void) {
  enum { BYTES = 1 << 20 };
  begin_suspended();
  uint8_t *large = calloc(1, BYTES);
  CUdeviceptr device;
  large[BYTES - 1] = 9;
  CHECK_OK(cuMemAlloc_v2(&device, BYTES));
  CHECK_OK(cuMemcpyHtoD_v2(device, large, BYTES));
  memset(large, 0, BYTES);
  CHECK_OK(cuMemcpyDtoH_v2(large, device, BYTES));
  CHECK(large[BYTES - 1] == 9);
  CHECK(atomic_load(&peerResume.wakes) == 1);
}

static void copy_thatIsUnderWay_wakesTheSession(void) {
  enum { BYTES = 1 << 20, CUTS = 20 };
  peer.resumeWindow = WINDOW_SECONDS;
  peerResume.cutEvery = BYTES;
  atomic_store(&peerResume.cutsLeft, CUTS);
  context = begin();
  uint8_t *large = malloc(BYTES), *copy = malloc(BYTES);
  CUdeviceptr device;
  CHECK_OK(cuMemAlloc_v2(&device, BYTES));
  for (int i = 0; atomic_load(&peerResume.cutsLeft) > 0; i++) {
    memset(large, i, BYTES);
    atomic_store(&peerResume.suspended, true);
    CHECK_OK(cuMemcpyHtoD_v2(device, large, BYTES));
    CHECK_OK(cuMemcpyDtoH_v2(copy, device, BYTES));
    CHECK(memcmp(large, copy, BYTES) == 0);
  }
  CHECK(atomic_load(&peerResume.wakes) > 0);
}

static void idleProgram_doesNotWakeTheSession_andGoesOnWhenItIsResumed(void) {
  begin_suspended();
  nap(WINDOW_SECONDS * 1000 + 1500);
  CHECK(atomic_load(&peerResume.wakes) == 0);
  atomic_store(&peerResume.suspended, false);
  AWAIT(atomic_load(&connections[0].cut.state) == CUT_NONE);
  check_memory();
  CHECK(atomic_load(&peerResume.wakes) == 0);
}

static void call_onASessionThatPeopleResume_waitsForThem_longerThanTheWindow(void) {
  atomic_store(&peerResume.sleepsOn, true);
  begin_suspended();
  CHECK_OK(cuMemsetD32Async(memory + 4, 8, 1, NULL));
  AWAIT(atomic_load(&peerResume.wakes) == 1);
  nap(WINDOW_SECONDS * 1000 + 1500);
  atomic_store(&peerResume.suspended, false);
  words[1] = 8;
  check_memory();
}

static void agentThatHangsUp_isAskedAgain(void) {
  begin_suspended();
  atomic_store(&peerResume.hangsUp, true);
  AWAIT(atomic_load(&peerResume.resumes) == 2);
  check_memory();
  CHECK(atomic_load(&peerResume.wakes) == 1);
}

static void session_thatEndsWhileItIsSuspended_isLostWithTheReason(void) {
  begin_suspended();
  atomic_store(&peerResume.refusal, "type=refused\ncause=refused\nmessage=no such session; it may have ended\n");
  atomic_store(&peerResume.suspended, false);
  CHECK(cuMemcpyDtoH_v2(back, memory, sizeof back) == CUDA_ERROR_DEVICE_UNAVAILABLE);
  CHECK(cuCtxSynchronize() == CUDA_ERROR_DEVICE_UNAVAILABLE);
}

int main(void) {
  CASE(call_thatWaits_wakesTheSession);
  CASE(call_thatIsPosted_wakesTheSession);
  CASE(largeCopy_wakesTheSession);
  CASE(copy_thatIsUnderWay_wakesTheSession);
  CASE(idleProgram_doesNotWakeTheSession_andGoesOnWhenItIsResumed);
  CASE(call_onASessionThatPeopleResume_waitsForThem_longerThanTheWindow);
  CASE(agentThatHangsUp_isAskedAgain);
  CASE(session_thatEndsWhileItIsSuspended_isLostWithTheReason);
  return test_result();
}
