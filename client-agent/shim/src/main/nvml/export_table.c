// SPDX-License-Identifier: Apache-2.0
// The table of unnamed functions that nvidia-smi asks for. What is known of it is in
// docs/reference/nvml-coverage.md; whoever calls a slot of which nothing is known gets NVML_ERROR_NOT_SUPPORTED
// for a device and success for anything else, and nothing is written.
#include "answers.h"
#include "usage.h"

enum { SLOTS = 512, TABLE_BYTES = SLOTS * sizeof(void *), MOST_ENTRIES = 65536 };

/** Places in the table, as nvidia-smi of driver 580 calls them. */
enum {
  SIZE = 0,
  RESET_GPU = 20,
  HANDLE_BY_INDEX = 81,
  COMPUTE_PROCESSES = 213,
  GRAPHICS_PROCESSES = 214,
  MPS_PROCESSES = 215,
  SET_PERSISTENCE_MODE = 251,
};

static const unsigned char tableId[16] = {0xC4, 0xFE, 0x3E, 0x6C, 0xC9, 0x8F, 0x6C, 0x4E,
                                          0xA3, 0x27, 0xEE, 0x69, 0x6E, 0x12, 0xF7, 0xC4};

typedef nvmlReturn_t slot(void *first, void *second, void *third);

static nvmlReturn_t other(void *first, void *second, void *third) {
  (void)second;
  (void)third;
  return lease_check(first) ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

static nvmlReturn_t refuse(void *first, void *second, void *third) {
  (void)second;
  (void)third;
  nvmlReturn_t result = lease_check(first);
  return result ? result : NVML_ERROR_NO_PERMISSION;
}

static nvmlReturn_t handle_by_index(void *index, void *device, void *third) {
  (void)third;
  struct lease lease;
  TRY(lease_get(&lease));
  if (!device || (uintptr_t)index >= lease.gpus) return NVML_ERROR_INVALID_ARGUMENT;
  *(nvmlDevice_t *)device = lease_handle((unsigned)(uintptr_t)index);
  return NVML_SUCCESS;
}

static nvmlReturn_t compute_processes(void *device, void *count, void *entries) {
  TRY(lease_check(device));
  unsigned *room = count;
  if (!room || !*room || *room > MOST_ENTRIES || !entries) return NVML_ERROR_INVALID_ARGUMENT;
  return named_processes(device, room, entries);
}

static nvmlReturn_t no_processes(void *device, void *count, void *entries) {
  (void)entries;
  return put_number(device, count, 0);
}

static void fill(slot **table) {
  for (int i = 1; i < SLOTS; i++) table[i] = other;
  *(size_t *)&table[SIZE] = TABLE_BYTES;
  table[RESET_GPU] = refuse;
  table[HANDLE_BY_INDEX] = handle_by_index;
  table[COMPUTE_PROCESSES] = compute_processes;
  table[GRAPHICS_PROCESSES] = no_processes;
  table[MPS_PROCESSES] = no_processes;
  table[SET_PERSISTENCE_MODE] = refuse;
}

NVML(nvmlInternalGetExportTable, const void **table, const void *id) {
  static slot *slots[SLOTS];
  if (!table || !id) return NVML_ERROR_INVALID_ARGUMENT;
  *table = NULL;
  if (memcmp(id, tableId, sizeof tableId) != 0) return NVML_ERROR_NOT_SUPPORTED;
  // Whoever comes second writes the same again.
  fill(slots);
  *table = slots;
  return NVML_SUCCESS;
}
