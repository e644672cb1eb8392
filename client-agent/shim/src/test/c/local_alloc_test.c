// SPDX-License-Identifier: Apache-2.0
// Small allocations that the program makes by itself, and what it does without credit for them.
#include "harness.h"
#include "peer_context.h"
#include "shim.h"

#include <pthread.h>
#include <sys/mman.h>

enum { KIB = 1 << 10, MIB = 1 << 20, SICK = 700, THREADS = 4, ALLOCATIONS = 2000 };

static const uint64_t BASE = PEER_DEVICE + (1ull << 40);

/** The worker, as far as memory is concerned. Of its thread, but for the counts. */
static struct {
  uint64_t next, end;
  uint64_t base;   // of credit that is granted; 0: BASE
  uint64_t most;   // of credit; 0: as much as is wanted
  uint64_t lastWanted;
  int sick;        // what memCredit answers
  bool full;
  _Atomic int credits, placed, ends, allocations, frees;
} worker;

static bool handle(struct peer_session *session, const struct frame *frame) {
  const uint64_t *slot = frame->slot;
  uint64_t out[2] = {0, 0};
  switch (frame->op) {
    case OP_memCredit:
      CHECK(slot[1] == 0);
      worker.credits++;
      worker.lastWanted = slot[2];
      out[0] = worker.end ? worker.next : worker.base ? worker.base : BASE;
      out[1] = worker.most && worker.most < slot[2] ? worker.most : slot[2];
      if (worker.full) out[1] = 0;
      worker.next = out[0];
      worker.end = out[0] + out[1];
      peer_reply(session, frame, worker.sick, out, worker.sick ? 0 : sizeof out);
      return true;
    case OP_memAllocAt:
      worker.placed++;
      CHECK(slot[0] == 0 && slot[1] == worker.next && slot[2]);
      worker.next += (slot[2] + 511) & ~511ull;
      CHECK(worker.next <= worker.end);
      return true;
    case OP_memCreditEnd:
      CHECK(slot[0] == 0);
      worker.ends++;
      worker.end = worker.next;
      return true;
    case OP_memAlloc:
      worker.allocations++;
      if (!worker.full) return false;
      peer_reply(session, frame, worker.end > worker.next ? RESULT_CREDIT_WANTED : 2, NULL, 0);
      return true;
    case OP_memFree:
      worker.frees++;
      return slot[0] >= BASE;
    default:
      return false;
  }
}

static CUcontext begin_placing(void) {
  peer.handler = handle;
  peer.allocatesAt = true;
  return begin();
}

static CUdeviceptr allocated(size_t bytes) {
  CUdeviceptr address;
  CHECK_OK(cuMemAlloc_v2(&address, bytes));
  return address;
}

static void allocations_thatAreSmall_areMadeWithoutARoundTripEach(void) {
  begin_placing();
  for (int i = 0; i < 100; i++) {
    CUdeviceptr address = allocated(1000), base;
    size_t bytes;
    CHECK(address == BASE + (uint64_t)i * 1024);
    CHECK_OK(cuMemGetAddressRange_v2(&base, &bytes, address + 999));
    CHECK(base == address && bytes == 1000);
    CHECK_RESULT(500, cuMemGetAddressRange_v2(&base, &bytes, address + 1000));
  }
  CHECK_OK(cuMemFree_v2(BASE));
  CHECK_RESULT(1, cuMemFree_v2(BASE));
  CHECK_RESULT(1, cuMemFree_v2(BASE + 1025));
  CHECK_OK(cuCtxSynchronize());
  CHECK(worker.credits == 1 && worker.placed == 100 && worker.frees == 1 && worker.allocations == 0);
}

static void credit_usedUp_isTwiceAsMuchUpToABound(void) {
  begin_placing();
  uint64_t wanted = MIB;
  for (int i = 0; i < 100; i++) {
    bool usedUp = worker.end == worker.next;
    allocated(MIB);
    CHECK_OK(cuCtxSynchronize());
    CHECK(worker.lastWanted == wanted || (usedUp && worker.lastWanted == 2 * wanted && wanted < 16 * MIB));
    wanted = worker.lastWanted;
  }
  CHECK(worker.lastWanted == 16 * MIB && worker.allocations == 0);
}

static void allocations_thatAreLarge_areAskedFor(void) {
  begin_placing();
  CHECK_OK(cuMemFree_v2(allocated(MIB + 1)));
  CHECK(worker.credits == 0 && worker.allocations == 1);
}

static void device_thatChoosesAddresses_isAskedForAll(void) {
  peer.handler = handle;
  begin();
  CHECK_OK(cuMemFree_v2(allocated(1)));
  CHECK(worker.credits == 0 && worker.allocations == 1);
}

static void attribute_thatIsNone_isNotSeenByPrograms(void) {
  begin_placing();
  int value;
  CHECK_RESULT(1, cuDeviceGetAttribute(&value, 0, 0));
}

static void credit_refused_isAskedForNowAndThen(void) {
  begin_placing();
  worker.most = 512;
  CUdeviceptr small = allocated(512);
  CHECK(small == BASE);
  for (int i = 0; i < 130; i++) CHECK_OK(cuMemFree_v2(allocated(1024)));
  CHECK(worker.credits == 3 && worker.allocations == 130 && worker.placed == 1);
  worker.most = 0;
  for (int i = 0; i < 130; i++) CHECK_OK(cuMemFree_v2(allocated(1024)));
  CHECK_OK(cuCtxSynchronize());
  CHECK(worker.credits == 4 && worker.allocations < 200);
}

static void lease_thatIsFull_hasWhatTheProgramDoesNotUse(void) {
  begin_placing();
  allocated(1000);
  CHECK_OK(cuCtxSynchronize());
  worker.full = true;
  CUdeviceptr address;
  CHECK_RESULT(2, cuMemAlloc_v2(&address, 2 * MIB));
  CHECK(worker.ends == 1 && worker.allocations == 2);
  CHECK_RESULT(2, cuMemAlloc_v2(&address, 2 * MIB));
  CHECK_RESULT(2, cuMemAlloc_v2(&address, 1));
  CHECK(worker.ends == 1 && worker.allocations == 4 && worker.credits == 1);
}

static void place_whereTheProgramHasMemory_isGivenBackForGood(void) {
  begin_placing();
  void *own = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  worker.base = (uintptr_t)own;
  for (int i = 0; i < 100; i++) CHECK_OK(cuMemFree_v2(allocated(1000)));
  CHECK(worker.credits == 1 && worker.ends == 1 && worker.placed == 0 && worker.allocations == 100);
}

static void context_withAnError_reportsItWhenCreditIsAskedFor(void) {
  begin_placing();
  worker.sick = SICK;
  CUdeviceptr address;
  CHECK_RESULT(SICK, cuMemAlloc_v2(&address, 1));
  CHECK_RESULT(SICK, cuMemAlloc_v2(&address, 1));
  CHECK(worker.credits == 1 && worker.allocations == 0);
}

static void *allocate_often(void *context) {
  CUdeviceptr *addresses = malloc(sizeof *addresses * ALLOCATIONS);
  CHECK_OK(cuCtxSetCurrent(context));
  for (int i = 0; i < ALLOCATIONS; i++) addresses[i] = allocated((size_t)(1 + i % 3000));
  for (int i = 0; i < ALLOCATIONS; i++) {
    CUdeviceptr base;
    size_t bytes;
    CHECK_OK(cuMemGetAddressRange_v2(&base, &bytes, addresses[i]));
    CHECK(base == addresses[i] && bytes == (size_t)(1 + i % 3000));
  }
  return addresses;
}

static void threads_thatAllocateAtOnce_haveMemoryOfTheirOwn(void) {
  CUcontext context = begin_placing();
  pthread_t threads[THREADS];
  void *addresses[THREADS];
  for (int i = 0; i < THREADS; i++) CHECK_OK(pthread_create(&threads[i], NULL, allocate_often, context));
  for (int i = 0; i < THREADS; i++) CHECK_OK(pthread_join(threads[i], &addresses[i]));
  for (int i = 0; i < THREADS; i++) {
    for (int j = 0; j < ALLOCATIONS; j++) CHECK_OK(cuMemFree_v2(((CUdeviceptr *)addresses[i])[j]));
    free(addresses[i]);
  }
  CHECK_OK(cuCtxSynchronize());
  CHECK(worker.placed == THREADS * ALLOCATIONS && worker.frees == THREADS * ALLOCATIONS);
  CHECK(worker.allocations == 0);
}

int main(void) {
  CASE(allocations_thatAreSmall_areMadeWithoutARoundTripEach);
  CASE(credit_usedUp_isTwiceAsMuchUpToABound);
  CASE(allocations_thatAreLarge_areAskedFor);
  CASE(device_thatChoosesAddresses_isAskedForAll);
  CASE(attribute_thatIsNone_isNotSeenByPrograms);
  CASE(credit_refused_isAskedForNowAndThen);
  CASE(lease_thatIsFull_hasWhatTheProgramDoesNotUse);
  CASE(place_whereTheProgramHasMemory_isGivenBackForGood);
  CASE(context_withAnError_reportsItWhenCreditIsAskedFor);
  CASE(threads_thatAllocateAtOnce_haveMemoryOfTheirOwn);
  return test_result();
}
