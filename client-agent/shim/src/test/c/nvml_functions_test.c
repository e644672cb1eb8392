// SPDX-License-Identifier: Apache-2.0
// Every function that libnvidia-ml.so.1 exports, and its export table.
#include "nvml_agent.h"

#define TABLE_SLOTS 512

enum { BUFFER_BYTES = 1 << 16 };

static const unsigned char tableId[16] = {0xC4, 0xFE, 0x3E, 0x6C, 0xC9, 0x8F, 0x6C, 0x4E,
                                          0xA3, 0x27, 0xEE, 0x69, 0x6E, 0x12, 0xF7, 0xC4};

enum class { ANSWERED_CLASS, UNSUPPORTED_CLASS, REFUSED_CLASS };

static const struct function {
  const char *name;
  enum class class;
  const char *first;
} functions[] = {
#define TOPIC(name)
#define ANSWERED(name, note) {#name, ANSWERED_CLASS, ""},
#define UNSUPPORTED(name, first, reason) {#name, UNSUPPORTED_CLASS, #first},
#define REFUSED(name, first) {#name, REFUSED_CLASS, #first},
#include "../../main/nvml/functions.inc"
};

enum { FUNCTIONS = sizeof functions / sizeof *functions };

static void everyFunction_ofTheTable_isExported(void) {
  open_library();
  for (int i = 0; i < FUNCTIONS; i++) function(functions[i].name);
  CHECK(FUNCTIONS > 400);
}

static bool is(const struct function *function, const char *name) {
  return strcmp(function->name, name) == 0;
}

/** Returns whether a function is nvmlInit, or answers before it. */
static bool needs_no_init(const struct function *function) {
  return strncmp(function->name, "nvmlInit", 8) == 0 || is(function, "nvmlErrorString") ||
         is(function, "nvmlSystemGetNVMLVersion") || strstr(function->name, "ExportTable") ||
         strstr(function->name, "DeviceInfoByIndex");
}

static void everyFunction_beforeInit_isUninitialized(void) {
  open_library();
  for (int i = 0; i < FUNCTIONS; i++) {
    if (needs_no_init(&functions[i])) continue;
    nvmlReturn_t result = function(functions[i].name)(NULL, NULL, NULL, NULL, NULL, NULL);
    if (result != NVML_ERROR_UNINITIALIZED) fprintf(stderr, "%s: %d\n", functions[i].name, result);
    CHECK(result == NVML_ERROR_UNINITIALIZED);
  }
}

static void everyFunction_withNulls_fails(void) {
  begin(0);
  for (int i = 0; i < FUNCTIONS; i++) {
    const struct function *at = &functions[i];
    if (strncmp(at->name, "nvmlInit", 8) == 0 && !strstr(at->name, "ExportTable")) continue;
    if (is(at, "nvmlShutdown") || is(at, "nvmlErrorString")) continue;
    nvmlReturn_t result = function(at->name)(NULL, NULL, NULL, NULL, NULL, NULL);
    nvmlReturn_t expected = at->class == ANSWERED_CLASS || strcmp(at->first, "device") == 0
                                ? NVML_ERROR_INVALID_ARGUMENT
                            : at->class == REFUSED_CLASS ? NVML_ERROR_NO_PERMISSION
                                                         : NVML_ERROR_NOT_SUPPORTED;
    if (result != expected) fprintf(stderr, "%s: %d\n", at->name, result);
    CHECK(result == expected);
  }
}

static void everyStub_withADevice_saysItsClass(void) {
  nvmlDevice_t device = begin(1);
  for (int i = 0; i < FUNCTIONS; i++) {
    if (functions[i].class == ANSWERED_CLASS) continue;
    int expected =
        functions[i].class == REFUSED_CLASS ? NVML_ERROR_NO_PERMISSION : NVML_ERROR_NOT_SUPPORTED;
    CHECK_RESULT(expected, (int)function(functions[i].name)(device, device, device, device, device,
                                                            device));
  }
}

/** With a buffer for every pointer. */
static void everyAnswer_withADevice_leavesTheProcessAlive(void) {
  static char buffer[BUFFER_BYTES];
  static const char *const counted[] = {"nvmlDeviceGetFieldValues", "nvmlDeviceGetCpuAffinity",
                                        "nvmlDeviceGetCpuAffinityWithinScope"};
  nvmlDevice_t device = begin(0);
  for (int i = 0; i < FUNCTIONS; i++) {
    const struct function *at = &functions[i];
    void *second = buffer;
    for (size_t c = 0; c < sizeof counted / sizeof *counted; c++) {
      if (is(at, counted[c])) second = (void *)1;
    }
    if (at->class != ANSWERED_CLASS || is(at, "nvmlShutdown")) continue;
    memset(buffer, 0, sizeof buffer);
    function(at->name)(device, second, buffer, buffer, buffer, buffer);
  }
  unsigned count = 0;
  CHECK_OK(CALL(nvmlDeviceGetCount_v2, &count));
  CHECK(count == 2);
}

/** As nvidia-smi of driver 580 uses the table: handles, lists of processes, and a reset. */
static void exportTable_asNvidiaSmiUsesIt_answers(void) {
  nvmlDevice_t device = begin(0), found = NULL;
  nvmlReturn_t (**table)(void *, void *, void *, void *) = NULL;
  CHECK_RESULT(NVML_ERROR_NOT_SUPPORTED, (int)CALL(nvmlInternalGetExportTable, &table, "0123456789abcdef"));
  CHECK(!table);
  CHECK_OK(CALL(nvmlInternalGetExportTable, &table, tableId));
  CHECK(*(size_t *)table == TABLE_SLOTS * sizeof *table);
  CHECK_OK(table[81](NULL, &found, (void *)0x22, NULL));
  CHECK(found == device);
  static struct named_process entries[250];
  unsigned count = 250;
  CHECK_OK(table[213](device, &count, entries, NULL));
  CHECK(sizeof *entries == 4128 && count == 2 && entries[0].detail.pid == 41);
  CHECK(strcmp(entries[0].name, "train me") == 0);
  count = 250;
  CHECK_OK(table[214](device, &count, entries, NULL));
  CHECK(count == 0);
  CHECK_RESULT(NVML_ERROR_NO_PERMISSION, (int)table[20](device, NULL, NULL, NULL));
  CHECK_RESULT(NVML_ERROR_NO_PERMISSION, (int)table[251](device, (void *)1, NULL, NULL));
  for (int i = 1; i < TABLE_SLOTS; i++) {
    CHECK(table[i]);
    if (i == 81 || (i >= 213 && i <= 215)) continue;
    table[i](device, (void *)1, (void *)1, (void *)1);
    table[i](NULL, NULL, NULL, NULL);
  }
}

int main(void) {
  CASE(everyFunction_ofTheTable_isExported);
  CASE(everyFunction_beforeInit_isUninitialized);
  CASE(everyFunction_withNulls_fails);
  CASE(everyStub_withADevice_saysItsClass);
  CASE(everyAnswer_withADevice_leavesTheProcessAlive);
  CASE(exportTable_asNvidiaSmiUsesIt_answers);
  return test_result();
}
