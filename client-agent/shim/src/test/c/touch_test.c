// SPDX-License-Identifier: Apache-2.0
// Copies to memory that the program has not touched.
#include "harness.h"
#include "peer_context.h"
#include "shim.h"
#include "transport/touch.h"

#include "exports.h"

#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, MIB = 1 << 20, POPULATE_WRITE = 23 };

static uint8_t *map(size_t bytes) {
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  return memory;
}

static bool is_touched(const uint8_t *page) {
  unsigned char resident = 0;
  CHECK_OK(mincore((void *)page, 1, &resident));
  return resident & 1;
}

static bool kernel_populates(void) {
  uint8_t *page = map(PAGE);
  return madvise(page, PAGE, POPULATE_WRITE) == 0;
}

static void copy_toUntouchedMemory_touchesNothingElse(void) {
  begin();
  enum { BYTES = 21 * MIB + 12345, BEFORE = 5 * PAGE + 77, ALL = 32 * MIB };
  CUdeviceptr device;
  uint8_t *out = malloc(BYTES), *in = map(ALL);
  for (int i = 0; i < BYTES; i++) out[i] = (uint8_t)(i * 7 + i / 1000);
  CHECK_OK(cuMemAlloc_v2(&device, BYTES));
  CHECK_OK(cuMemcpyHtoD_v2(device, out, BYTES));
  CHECK_OK(cuMemcpyDtoH_v2(in + BEFORE, device, BYTES));
  CHECK(!is_touched(in) && !is_touched(in + BEFORE / PAGE * PAGE - PAGE));
  CHECK(!is_touched(in + ((BEFORE + BYTES) / PAGE + 1) * PAGE));
  CHECK(memcmp(in + BEFORE, out, BYTES) == 0);
}

static void touchAhead_ofAPartlyTouchedDestination_keepsWhatIsThere(void) {
  enum { BYTES = 24 * MIB };
  uint8_t *memory = map(BYTES);
  for (size_t at = 3 * PAGE; at < BYTES; at += 37 * PAGE) memory[at] = (uint8_t)(at / PAGE);
  struct call copy = {.destination = memory, .destinationBytes = BYTES};
  for (uint64_t until = MIB; until <= BYTES; until += MIB) touch_ahead(&copy, until);
  CHECK(copy.touchedBytes == BYTES);
  for (size_t at = 0; at < BYTES; at += PAGE) {
    bool written = at % (37 * PAGE) == 3 * PAGE;
    CHECK(memory[at] == (written ? (uint8_t)(at / PAGE) : 0));
  }
}

static void touchAhead_goesNotFarAhead(void) {
  enum { BYTES = 64 * MIB };
  uint8_t *memory = map(BYTES);
  struct call copy = {.destination = memory, .destinationBytes = BYTES};
  touch_ahead(&copy, MIB);
  CHECK(!kernel_populates() || is_touched(memory + MIB));
  CHECK(!is_touched(memory + 16 * MIB));
}

static void touchAhead_ofAShortCopy_leavesItAlone(void) {
  enum { BYTES = MIB / 2 };
  uint8_t *memory = map(BYTES);
  struct call copy = {.destination = memory, .destinationBytes = BYTES};
  touch_ahead(&copy, BYTES);
  CHECK(!is_touched(memory + PAGE));
}

int main(void) {
  CASE(copy_toUntouchedMemory_touchesNothingElse);
  CASE(touchAhead_ofAPartlyTouchedDestination_keepsWhatIsThere);
  CASE(touchAhead_goesNotFarAhead);
  CASE(touchAhead_ofAShortCopy_leavesItAlone);
  return test_result();
}
