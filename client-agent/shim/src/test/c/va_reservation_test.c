// SPDX-License-Identifier: Apache-2.0
// Places of device memory: the program's memory stays out of them, and is never mapped over.
#include "harness.h"
#include "memory/va_reservation.h"

#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

/** Addresses at which nothing is mapped. */
static char *free_pages(uint32_t pages) {
  char *place = mmap(NULL, pages * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(place != MAP_FAILED && !munmap(place, pages * PAGE));
  return place;
}

static uint64_t address(const char *place) { return (uint64_t)(uintptr_t)place; }

/** Memory of the program, at an address where it may be mapped. */
static bool takes(char *place, uint32_t pages) {
  char *memory = mmap(place, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  if (memory == place) return true;
  munmap(memory, pages * PAGE);
  return false;
}

static void place_kept_isNotGivenToTheProgram(void) {
  char *place = free_pages(8);
  CHECK(va_reserve(address(place) + PAGE, 3 * PAGE));
  CHECK(!takes(place + PAGE, 1) && !takes(place + 3 * PAGE, 1));
  CHECK(takes(place, 1) && takes(place + 4 * PAGE, 4));
}

static void place_whereTheProgramHasMemory_isRefusedAndTheMemoryUnchanged(void) {
  char *place = free_pages(8);
  CHECK(takes(place + 3 * PAGE, 1));
  strcpy(place + 3 * PAGE, "of the program");
  CHECK(!va_reserve(address(place), 8 * PAGE));
  CHECK(!va_make_accessible(address(place) + 3 * PAGE, PAGE));
  CHECK(strcmp(place + 3 * PAGE, "of the program") == 0);
}

static void allocations_thatShareAPage_haveOnePlace(void) {
  char *place = free_pages(8);
  CHECK(va_reserve(address(place) + 100, 200));
  CHECK(va_reserve(address(place) + 300, PAGE));
  CHECK(va_reserve(address(place) + 5 * PAGE, PAGE));
  CHECK(va_reserve(address(place) + 10, 8 * PAGE - 20));
  CHECK(!takes(place, 1) && !takes(place + 3 * PAGE, 1) && !takes(place + 7 * PAGE, 1));
}

static void place_mapped_isOfProcessAndDeviceUntilItIsUnmapped(void) {
  char *place = free_pages(8);
  CHECK(va_reserve(address(place), 8 * PAGE));
  CHECK(va_make_accessible(address(place) + 2 * PAGE, 2 * PAGE));
  memset(place + 2 * PAGE, 1, 2 * PAGE);
  va_make_inaccessible(address(place) + 2 * PAGE, 2 * PAGE);
  CHECK(!takes(place + 2 * PAGE, 2));
  CHECK(va_make_accessible(address(place) + 3 * PAGE, PAGE) && place[3 * PAGE] == 0);
}

static void place_left_isTheProgramsForEver(void) {
  char *place = free_pages(8);
  CHECK(va_make_accessible(address(place), 8 * PAGE));
  place[4 * PAGE] = 7;
  va_release(address(place) + 4 * PAGE, PAGE);
  CHECK(!va_reserve(address(place) + 4 * PAGE, 1) && !va_make_accessible(address(place), 8 * PAGE));
  CHECK(place[4 * PAGE] == 7);
  CHECK(va_reserve(address(place), 4 * PAGE) && va_reserve(address(place) + 5 * PAGE, 3 * PAGE));
}

static void place_beyondWhatAProcessCanMap_needsNotBeKept(void) {
  CHECK(va_reserve(1ull << 50, 1 << 20));
  CHECK(!va_make_accessible(1ull << 50, PAGE));
}

int main(void) {
  CASE(place_kept_isNotGivenToTheProgram);
  CASE(place_whereTheProgramHasMemory_isRefusedAndTheMemoryUnchanged);
  CASE(allocations_thatShareAPage_haveOnePlace);
  CASE(place_mapped_isOfProcessAndDeviceUntilItIsUnmapped);
  CASE(place_left_isTheProgramsForEver);
  CASE(place_beyondWhatAProcessCanMap_needsNotBeKept);
  return test_result();
}
