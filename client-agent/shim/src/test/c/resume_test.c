// SPDX-License-Identifier: Apache-2.0
// Call streams that are cut, in the middle of anything, and go on.
#include "peer_context.h"
#include "transport/connection.h"
#include "transport/control.h"
#include "transport/shared_stream.h"

#include <stdatomic.h>

enum { MEBIBYTE = 1 << 20 };

static CUcontext context;

/** Begins with a session that outlives its connection; cuts: how often that breaks, after about so many bytes. */
static void begin_resuming(int cuts, uint64_t cutEvery) {
  peer.resumeWindow = 60;
  peerResume.cutEvery = cutEvery;
  atomic_store(&peerResume.cutsLeft, cuts);
  context = begin();
}

static void fill(uint8_t *bytes, size_t count, uint32_t seed) {
  for (size_t i = 0; i < count; i++) bytes[i] = (uint8_t)((i + seed) * 2654435761u >> 13);
}

static void check_filled(const uint8_t *bytes, size_t count, uint32_t seed) {
  for (size_t i = 0; i < count; i++) CHECK(bytes[i] == (uint8_t)((i + seed) * 2654435761u >> 13));
}

/** Cuts the connection as it is now. */
static void cut(void) { peer_shut(connections[0].stream); }

// Several threads post, copy both ways and wait.

enum { THREADS = 8, WORDS = 1000, ROUNDS = 100 };

static CUfunction store;

static void *work(void *argument) {
  uint32_t self = (uint32_t)(uintptr_t)argument, block[WORDS], back[WORDS];
  CUstream stream;
  CUdeviceptr memory;
  CHECK_OK(cuCtxSetCurrent(context));
  CHECK_OK(cuStreamCreate(&stream, 1));
  CHECK_OK(cuMemAlloc_v2(&memory, sizeof block));
  for (uint32_t round = 0; round < ROUNDS; round++) {
    for (uint32_t i = 0; i < WORDS; i++) block[i] = self * 1000000 + round * WORDS + i;
    CHECK_OK(cuMemcpyHtoDAsync_v2(memory, block, sizeof block, stream));
    CUdeviceptr word = memory + 4 * (round % WORDS);
    void *parameters[] = {&word, &round};
    CHECK_OK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
    CHECK_OK(cuMemcpyDtoHAsync_v2(back, memory, sizeof back, stream));
    CHECK_OK(cuStreamSynchronize(stream));
    block[round % WORDS] = round;
    CHECK(memcmp(block, back, sizeof block) == 0);
  }
  return NULL;
}

static void cuts_whileThreadsPostAndWait_changeNothing(void) {
  begin_resuming(24, 150000);
  CUmodule module;
  CHECK_OK(cuModuleLoadData(&module, ".version 8.0\n.target sm_80\n"));
  CHECK_OK(cuModuleGetFunction(&store, module, "store"));
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  CHECK(atomic_load(&peerResume.resumes) >= 10);
}

// Bulk data

/** Page-locked memory that no worker maps, so that its bytes are sent. */
static void *lock_memory(size_t bytes) {
  void *memory = malloc(bytes);
  CHECK_OK(cuMemHostRegister_v2(memory, bytes, 0));
  return memory;
}

static void unlock_memory(void *memory) {
  CHECK_OK(cuMemHostUnregister(memory));
  free(memory);
}

static void cuts_inPageableCopies_sendTheBytesOfTheCall(void) {
  enum { BYTES = 48 * MEBIBYTE };
  begin_resuming(24, 3 * MEBIBYTE);
  uint8_t *memory = malloc(BYTES), *back = malloc(BYTES);
  CUdeviceptr device;
  CHECK_OK(cuMemAlloc_v2(&device, BYTES));
  for (uint32_t round = 0; round < 3; round++) {
    fill(memory, BYTES, round);
    CHECK_OK(cuMemcpyHtoD_v2(device, memory, BYTES));
    memset(memory, 0, BYTES);
    CHECK_OK(cuMemcpyDtoH_v2(back, device, BYTES));
    check_filled(back, BYTES, round);
  }
  CHECK(atomic_load(&peerResume.resumes) >= 10);
}

static void cuts_afterManySmallBulkCopies_sendTheBytesOfTheCalls(void) {
  enum { BYTES = 40000, COPIES = 400 };
  begin_resuming(24, 300000);
  uint8_t *memory = malloc(BYTES), *back = malloc(BYTES);
  CUdeviceptr device;
  CHECK_OK(cuMemAlloc_v2(&device, (size_t)BYTES * COPIES));
  for (uint32_t i = 0; i < COPIES; i++) {
    fill(memory, BYTES, i);
    CHECK_OK(cuMemcpyHtoDAsync_v2(device + (size_t)i * BYTES, memory, BYTES, NULL));
  }
  for (uint32_t i = 0; i < COPIES; i++) {
    CHECK_OK(cuMemcpyDtoH_v2(back, device + (size_t)i * BYTES, BYTES));
    check_filled(back, BYTES, i);
  }
}

static void cuts_inPageLockedCopies_sendTheBytesOfTheMemory(void) {
  enum { BYTES = 24 * MEBIBYTE };
  begin_resuming(24, 3 * MEBIBYTE);
  uint8_t *back = malloc(BYTES);
  CUdeviceptr device;
  CHECK_OK(cuMemAlloc_v2(&device, BYTES));
  for (uint32_t round = 0; round < 3; round++) {
    void *memory = lock_memory(BYTES);
    fill(memory, BYTES, round);
    CHECK_OK(cuMemcpyHtoDAsync_v2(device, memory, BYTES, NULL));
    if (round == 1) CHECK_OK(cuStreamSynchronize(NULL));
    unlock_memory(memory);
    CHECK_OK(cuMemcpyDtoH_v2(back, device, BYTES));
    check_filled(back, BYTES, round);
  }
}

static void cuts_inCopiesToPageLockedMemory_bringAllBytes(void) {
  enum { BYTES = 24 * MEBIBYTE };
  begin_resuming(24, 2 * MEBIBYTE);
  uint8_t *memory = malloc(BYTES);
  void *back;
  CUdeviceptr device;
  CHECK_OK(cuMemAlloc_v2(&device, BYTES));
  back = lock_memory(BYTES);
  for (uint32_t round = 0; round < 3; round++) {
    fill(memory, BYTES, round);
    CHECK_OK(cuMemcpyHtoD_v2(device, memory, BYTES));
    CHECK_OK(cuMemcpyDtoHAsync_v2(back, device, BYTES, NULL));
    CHECK_OK(cuCtxSynchronize());
    check_filled(back, BYTES, round);
  }
  CHECK(atomic_load(&peerResume.clientAcknowledged) > BYTES);
}

static void cuts_whileTheRingLaps_keepAllFramesInOrder(void) {
  enum { MOST = 32000, COPIES = 3000 };
  begin_resuming(24, 3000000);
  uint8_t *memory = malloc(MOST), *back = malloc(MOST);
  CUdeviceptr device;
  CHECK_OK(cuMemAlloc_v2(&device, MOST));
  for (uint32_t i = 0; i < COPIES; i++) {
    // Of every length, so that frames do not end where laps do.
    fill(memory, MOST, i);
    CHECK_OK(cuMemcpyHtoDAsync_v2(device, memory, MOST - i * 7 % 1000, NULL));
    CHECK_OK(cuMemcpyHtoDAsync_v2(device, memory, MOST, NULL));
    if (i % 500) continue;
    CHECK_OK(cuMemcpyDtoH_v2(back, device, MOST));
    check_filled(back, MOST, i);
  }
  CHECK_OK(cuMemcpyDtoH_v2(back, device, MOST));
  check_filled(back, MOST, COPIES - 1);
}

// Requests that are not acknowledged

static _Atomic bool flooded;

static void *flood(void *memory) {
  CUdeviceptr device;
  CHECK_OK(cuCtxSetCurrent(context));
  CHECK_OK(cuMemAlloc_v2(&device, MEBIBYTE));
  for (int i = 0; i < 100; i++) CHECK_OK(cuMemcpyHtoDAsync_v2(device, memory, MEBIBYTE, NULL));
  atomic_store(&flooded, true);
  return NULL;
}

static void requests_notAcknowledged_waitAtTheLimit(void) {
  begin_resuming(0, 0);
  atomic_store(&peerResume.holdAcknowledgements, true);
  void *memory = lock_memory(MEBIBYTE);
  pthread_t thread;
  pthread_create(&thread, NULL, flood, memory);
  const struct retained *retained = &connections[0].retained;
  while (__atomic_load_n(&retained->end, __ATOMIC_RELAXED) < MAX_RETAINED_BYTES - RING_BYTES - 2 * MEBIBYTE) usleep(1000);
  CHECK(!atomic_load(&flooded));
  CHECK(__atomic_load_n(&retained->end, __ATOMIC_RELAXED) <= MAX_RETAINED_BYTES);
  atomic_store(&peerResume.holdAcknowledgements, false);
  cut();  // RESUMED acknowledges, too
  pthread_join(thread, NULL);
  CHECK_OK(cuCtxSynchronize());
}

static void *flood_ring(void *nothing) {
  CHECK_OK(cuCtxSetCurrent(context));
  for (uint32_t i = 0; i < 4 * RING_BYTES / 32; i++) CHECK_OK(op_streamWaitEvent(1, 16, 0, 0));
  atomic_store(&flooded, true);
  return nothing;
}

static void ring_notAcknowledged_isNotUsedAgain(void) {
  begin_resuming(0, 0);
  atomic_store(&peerResume.holdAcknowledgements, true);
  pthread_t thread;
  pthread_create(&thread, NULL, flood_ring, NULL);
  const struct ring *ring = &connections[0].ring;
  while (atomic_load(&ring->published) < RING_BYTES - 4096) usleep(1000);
  CHECK(!atomic_load(&flooded));
  atomic_store(&peerResume.holdAcknowledgements, false);
  cut();
  pthread_join(thread, NULL);
  CHECK_OK(cuCtxSynchronize());
}

static void cut_nobodyUsesTheStream_isNoticedByTheNextCall(void) {
  begin_resuming(0, 0);
  CHECK_OK(cuCtxSynchronize());
  for (int i = 0; i < 5; i++) {
    cut();
    CHECK_OK(cuCtxSynchronize());
  }
  CHECK(atomic_load(&peerResume.resumes) == 5);
}

static void cut_afterAnyByteOfAnAnswer_losesNothing(void) {
  enum { REPLY_BYTES = 24 };
  begin_resuming(0, 0);
  for (uint32_t bytes = 1; bytes < REPLY_BYTES; bytes++) {
    peerResume.live[0]->outLeft = bytes;
    CHECK_OK(cuCtxSynchronize());
  }
  CHECK(atomic_load(&peerResume.resumes) == REPLY_BYTES - 1);
}

static void cut_afterAnyByteOfARequest_losesNothing(void) {
  enum { REQUEST_BYTES = 16 };
  begin_resuming(0, 0);
  for (uint32_t bytes = 1; bytes < REQUEST_BYTES; bytes++) {
    peerResume.live[0]->inLeft = bytes;
    CHECK_OK(cuCtxSynchronize());
  }
  CHECK(atomic_load(&peerResume.resumes) == REQUEST_BYTES - 1);
}

static void acknowledgement_halfWrittenAtACut_isNotGoneOnWithOnTheNextStream(void) {
  enum { WRITTEN = 14 };
  begin_resuming(0, 0);
  CHECK_OK(cuCtxSynchronize());
  struct connection *connection = &connections[0];
  struct retained *retained = &connection->retained;
  struct acknowledge_request frame = {
      .length = sizeof frame, .op = CONTROL_ACKNOWLEDGE, .received = control_position(connection)};
  // As if the socket had taken no more of it.
  lock_take(&connection->ring.role);
  memcpy(retained->control, &frame, sizeof frame);
  retained->controlLeft = sizeof frame - WRITTEN;
  struct iovec half = {&frame, WRITTEN};
  CHECK((connection->shared.on ? shared_send(connection, connection->stream, &half, 1)
                               : send(connection->stream, &frame, WRITTEN, MSG_NOSIGNAL)) == WRITTEN);
  cut();
  lock_release(&connection->ring.role);
  CHECK_OK(cuCtxSynchronize());
  CHECK(atomic_load(&peerResume.resumes) == 1);
  CHECK(retained->controlLeft == 0);
}

/** Has a copy be under way, and lost, while the server is away. */
static void copy_and_lose(CUdeviceptr device, const void *memory, size_t bytes) {
  peerResume.refusal = "type=refused\ncause=unreachable\nmessage=the server is away\n";
  // A call whose bytes are not all in the socket would wait for the server.
  atomic_store(&peerResume.holdCuts, true);
  peerResume.live[0]->inLeft = 1000;
  CHECK_OK(cuMemcpyHtoDAsync_v2(device, memory, bytes, NULL));
  atomic_store(&peerResume.holdCuts, false);
}

static void come_back(CUdeviceptr device, size_t bytes) {
  uint8_t *back = malloc(bytes);
  CHECK(atomic_load(&connections[0].retained.begin) < connections[0].retained.end);
  peerResume.refusal = NULL;
  CHECK_OK(cuMemcpyDtoH_v2(back, device, bytes));
  check_filled(back, bytes, 7);
  free(back);
}

static void memory_givenBackWhileTheServerIsAway_isSentAsItWas(void) {
  enum { BYTES = 64 << 10 };  // fits in the socket, and not in the ring
  begin_resuming(0, 0);
  uint8_t *pageable = malloc(BYTES);
  void *locked;
  CUdeviceptr device;
  CHECK_OK(cuMemAlloc_v2(&device, BYTES));
  fill(pageable, BYTES, 7);
  copy_and_lose(device, pageable, BYTES);
  memset(pageable, 0, BYTES);
  come_back(device, BYTES);
  CHECK_OK(cuMemsetD8_v2(device, 0, BYTES));
  locked = lock_memory(BYTES);
  fill(locked, BYTES, 7);
  copy_and_lose(device, locked, BYTES);
  unlock_memory(locked);
  come_back(device, BYTES);
  CHECK(atomic_load(&peerResume.resumes) >= 2);
}

static void memory_thatCannotBeRead_isAnErrorOfItsCallAlone(void) {
  begin_resuming(20, MEBIBYTE);
  CUdeviceptr device;
  uint8_t *nothing = (uint8_t *)16;
  CHECK_OK(cuMemAlloc_v2(&device, 4 * MEBIBYTE));
  for (int i = 0; i < 5; i++) {
    CHECK_RESULT(1, cuMemcpyHtoD_v2(device, nothing, 3 * MEBIBYTE));
    CHECK_OK(cuCtxSynchronize());
  }
}

int main(void) {
  CASE(cuts_whileThreadsPostAndWait_changeNothing);
  CASE(cuts_inPageableCopies_sendTheBytesOfTheCall);
  CASE(cuts_afterManySmallBulkCopies_sendTheBytesOfTheCalls);
  CASE(cuts_inPageLockedCopies_sendTheBytesOfTheMemory);
  CASE(cuts_inCopiesToPageLockedMemory_bringAllBytes);
  CASE(cuts_whileTheRingLaps_keepAllFramesInOrder);
  CASE(requests_notAcknowledged_waitAtTheLimit);
  CASE(ring_notAcknowledged_isNotUsedAgain);
  CASE(cut_nobodyUsesTheStream_isNoticedByTheNextCall);
  CASE(cut_afterAnyByteOfAnAnswer_losesNothing);
  CASE(cut_afterAnyByteOfARequest_losesNothing);
  // Records are not written by hand.
  if (!peer_is_sealed()) CASE(acknowledgement_halfWrittenAtACut_isNotGoneOnWithOnTheNextStream);
  CASE(memory_givenBackWhileTheServerIsAway_isSentAsItWas);
  CASE(memory_thatCannotBeRead_isAnErrorOfItsCallAlone);
  return test_result();
}
