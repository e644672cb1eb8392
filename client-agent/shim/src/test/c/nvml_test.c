// SPDX-License-Identifier: Apache-2.0
// libnvidia-ml.so.1 as tools meet it, with an agent that always says the same of a lease of two GPUs.
#include "../../main/nvml/nvml.h"
#include "../../main/nvml/usage.h"
#include "harness.h"
#include "transport/text_message.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define LIBRARY "target/libnvidia-ml.so.1"
#define TABLE_SLOTS 512

enum { GIB = 1 << 30, BUFFER_BYTES = 1 << 16 };

static const unsigned char tableId[16] = {0xC4, 0xFE, 0x3E, 0x6C, 0xC9, 0x8F, 0x6C, 0x4E,
                                          0xA3, 0x27, 0xEE, 0x69, 0x6E, 0x12, 0xF7, 0xC4};

typedef nvmlReturn_t call(void *, void *, void *, void *, void *, void *);

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

static void *library;
static char socketName[64];
static _Atomic int connections;  // of the agent, so far
static bool refusing;    // what it says from now on
static bool together;    // both GPUs are of one server, and the first one reaches the other
static unsigned long long usedBytes = 3u << 20;
static const char *faults[2];  // of the first GPU: how many, and their numbers; NULL: none

static void answer(struct text_message *message) {
  char gpu[16], number[32];
  text_get(message, "gpu", gpu, sizeof gpu);
  text_begin(message);
  if (refusing) {
    text_add(message, "type", "refused");
    text_add(message, "cause", "refused");
    text_add(message, "message", "the lease has ended");
    return;
  }
  text_add(message, "type", "nvml");
  if (!*gpu) {
    text_add(message, "gpus", "2");
    text_add(message, "cuda", "12080");
    text_add(message, "driver", "570.86.15");
    return;
  }
  bool first = *gpu == '0';
  text_add(message, "name", first ? "NVIDIA H100 80GB HBM3" : "soft GPU");
  text_add(message, "uuid",
           first ? "GPU-00112233-4455-6677-8899-aabbccddeeff"
                 : "GPU-ffeeddcc-bbaa-9988-7766-554433221100");
  text_add(message, "server", first || together ? "one" : "other");
  text_add(message, "backend", first || together ? "nvidia" : "soft");
  text_add(message, "peers", first && together ? "1" : "");
  text_add(message, "pci", first ? "0000:3b:00.0" : "0001:02:03.0");
  text_add(message, "cc", first ? "9.0" : "8.6");
  text_add(message, "memory", "1073741824");
  snprintf(number, sizeof number, "%llu", usedBytes);
  text_add(message, "used", number);
  text_add(message, "compute", "2500");
  text_add(message, "busy", first ? "1000" : "2600");
  text_add(message, "multiprocessors", first ? "132" : "0");
  text_add(message, "clock", "1980000");
  static const char *const measured[][2] = {
      {"temperature", "41"},   {"power", "71250"},   {"power_limit", "700000"}, {"performance", "0"},
      {"graphics_now", "1980"}, {"sm_now", "1965"},  {"memory_now", "2619"},    {"video_now", "1545"},
      {"corrected", "4294967299"}, {"uncorrected", "0"}};
  for (size_t i = 0; first && i < sizeof measured / sizeof *measured; i++) {
    text_add(message, measured[i][0], measured[i][1]);
  }
  if (first && faults[0]) {
    text_add(message, "faults", faults[0]);
    text_add(message, "last_faults", faults[1]);
  }
  text_add(message, "processes", first ? "2" : "0");
  text_add(message, "process.0", "41 1048576 train me");
  text_add(message, "process.1", "42 2097152 serve");
}

static void *serve(void *argument) {
  struct text_message message;
  int connection = (int)(intptr_t)argument;
  while (text_receive(&message, connection)) {
    answer(&message);
    if (!text_send(&message, connection) || refusing) break;
  }
  close(connection);
  return NULL;
}

static void *accept_all(void *listening) {
  for (;;) {
    int connection = accept((int)(intptr_t)listening, NULL, NULL);
    pthread_t thread;
    atomic_fetch_add(&connections, 1);
    pthread_create(&thread, NULL, serve, (void *)(intptr_t)connection);
  }
  return NULL;
}

static void start_agent(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(socketName, sizeof socketName, "@gpupool-nvml-test-%d", getpid());
  memcpy(address.sun_path + 1, socketName + 1, strlen(socketName) - 1);
  int listening = socket(AF_UNIX, SOCK_STREAM, 0);
  socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(socketName));
  CHECK_OK(bind(listening, (struct sockaddr *)&address, bytes));
  CHECK_OK(listen(listening, 8));
  setenv("GPUPOOL_AGENT", socketName, 1);
  pthread_t thread;
  CHECK_OK(pthread_create(&thread, NULL, accept_all, (void *)(intptr_t)listening));
}

static call *function(const char *name) {
  call *found;
  *(void **)&found = dlsym(library, name);
  if (!found) fprintf(stderr, "%s\n", dlerror());
  CHECK(found);
  return found;
}

#define CALL(name, ...) (((nvmlReturn_t(*)())(void (*)(void))function(#name))(__VA_ARGS__))

static void open_library(void) {
  library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  CHECK(library);
}

/** The library is open, NVML initialised; the handle of a GPU. */
static nvmlDevice_t begin(unsigned index) {
  nvmlDevice_t device = NULL;
  start_agent();
  open_library();
  CHECK_OK(CALL(nvmlInit_v2));
  CHECK_OK(CALL(nvmlDeviceGetHandleByIndex_v2, index, &device));
  return device;
}

static void everyFunction_ofTheTable_isExported(void) {
  open_library();
  for (int i = 0; i < FUNCTIONS; i++) function(functions[i].name);
  CHECK(FUNCTIONS > 400);
}

static bool is(const struct function *function, const char *name) {
  return strcmp(function->name, name) == 0;
}

/** Of these, some answer without nvmlInit, and the others are nvmlInit. */
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

static void init_severalTimes_isCounted(void) {
  begin(0);
  unsigned count;
  CHECK_OK(CALL(nvmlInitWithFlags, 1u));
  CHECK_RESULT(NVML_ERROR_INVALID_ARGUMENT, (int)CALL(nvmlInitWithFlags, 4u));
  CHECK_OK(CALL(nvmlShutdown));
  CHECK_OK(CALL(nvmlDeviceGetCount_v2, &count));
  CHECK(connections == 1);
  CHECK_OK(CALL(nvmlShutdown));
  CHECK_RESULT(NVML_ERROR_UNINITIALIZED, (int)CALL(nvmlDeviceGetCount_v2, &count));
  CHECK_RESULT(NVML_ERROR_UNINITIALIZED, (int)CALL(nvmlShutdown));
  CHECK_OK(CALL(nvmlInit_v2));
  CHECK(connections == 2);
}

static void init_withoutAnAgent_findsNoDriver(void) {
  setenv("GPUPOOL_AGENT", "@gpupool-nvml-test-none", 1);
  open_library();
  CHECK_RESULT(NVML_ERROR_DRIVER_NOT_LOADED, (int)CALL(nvmlInit_v2));
  refusing = true;
  start_agent();
  CHECK_RESULT(NVML_ERROR_DRIVER_NOT_LOADED, (int)CALL(nvmlInit_v2));
}

static void system_ofALease_isItsOldestDrivers(void) {
  begin(0);
  char text[96];
  int cuda;
  nvmlSystemDriverBranchInfo_t branch = {.version = NVML_VERSION(nvmlSystemDriverBranchInfo_t, 1)};
  CHECK_OK(CALL(nvmlSystemGetDriverVersion, text, 80u));
  CHECK(strcmp(text, "570.86.15") == 0);
  CHECK_OK(CALL(nvmlSystemGetNVMLVersion, text, 80u));
  CHECK(strcmp(text, "12.570.86.15") == 0);
  CHECK_RESULT(NVML_ERROR_INSUFFICIENT_SIZE, (int)CALL(nvmlSystemGetDriverVersion, text, 9u));
  CHECK_OK(CALL(nvmlSystemGetCudaDriverVersion_v2, &cuda));
  CHECK(cuda == 12080);
  CHECK_OK(CALL(nvmlSystemGetDriverBranch, &branch, 80u));
  CHECK(strcmp(branch.branch, "r570_00") == 0);
  CHECK_OK(CALL(nvmlSystemGetProcessName, 42u, text, 96u));
  CHECK(strcmp(((const char *(*)(int))(void (*)(void))function("nvmlErrorString"))(3), "Not Supported") == 0);
}

static void device_ofALease_isFoundByEachOfItsNames(void) {
  nvmlDevice_t device = begin(1), found = NULL;
  nvmlPciInfo_t pci;
  nvmlPciInfoExt_t ext = {.version = 1};
  char uuid[80], name[96];
  unsigned number;
  int major, minor;
  CHECK_OK(CALL(nvmlDeviceGetUUID, device, uuid, 80u));
  CHECK_OK(CALL(nvmlDeviceGetHandleByUUID, uuid, &found));
  CHECK(found == device);
  CHECK_OK(CALL(nvmlDeviceGetPciInfo_v3, device, &pci));
  CHECK(strcmp(pci.busId, "00000001:02:03.0") == 0 && strcmp(pci.legacyBusId, "0001:02:03.0") == 0);
  found = NULL;
  CHECK_OK(CALL(nvmlDeviceGetHandleByPciBusId_v2, pci.busId, &found));
  CHECK(found == device);
  CHECK_OK(CALL(nvmlDeviceGetHandleByPciBusId_v2, "3B:00.0", &found));
  CHECK(found != device);
  CHECK_RESULT(NVML_ERROR_NOT_FOUND, (int)CALL(nvmlDeviceGetHandleByUUID, "GPU-0", &found));
  CHECK_RESULT(NVML_ERROR_INVALID_ARGUMENT, (int)CALL(nvmlDeviceGetHandleByIndex_v2, 2u, &found));
  nvmlUUID_t bytes = {.version = NVML_VERSION(nvmlUUID_t, 1),
                      .type = NVML_UUID_BINARY,
                      .value.bytes = {0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99, 0x88, 0x77, 0x66,
                                      0x55, 0x44, 0x33, 0x22, 0x11, 0x00}};
  CHECK_OK(CALL(nvmlDeviceGetHandleByUUIDV, &bytes, &found));
  CHECK(found == device);
  CHECK_RESULT(NVML_ERROR_ARGUMENT_VERSION_MISMATCH, (int)CALL(nvmlDeviceGetPciInfoExt, device, &ext));
  CHECK_OK(CALL(nvmlDeviceGetHandleByIndex_v2, 0u, &device));
  CHECK_OK(CALL(nvmlDeviceGetName, device, name, 96u));
  CHECK(strcmp(name, "NVIDIA H100 80GB HBM3") == 0);
  CHECK_OK(CALL(nvmlDeviceGetNumGpuCores, device, &number));
  CHECK(number == 132 * 128);
  CHECK_OK(CALL(nvmlDeviceGetArchitecture, device, &number));
  CHECK(number == 9);
  CHECK_OK(CALL(nvmlDeviceGetBrand, device, &number));
  CHECK(number == 14);
  CHECK_OK(CALL(nvmlDeviceGetCudaComputeCapability, device, &major, &minor));
  CHECK(major == 9 && minor == 0);
}

static void memory_ofALease_isItsShare(void) {
  nvmlDevice_t device = begin(0);
  nvmlMemory_t memory;
  nvmlMemory_v2_t versioned = {.version = NVML_VERSION(nvmlMemory_v2_t, 2)};
  CHECK_OK(CALL(nvmlDeviceGetMemoryInfo, device, &memory));
  CHECK(memory.total == GIB && memory.used == 3 << 20 && memory.free == GIB - (3 << 20));
  CHECK_OK(CALL(nvmlDeviceGetMemoryInfo_v2, device, &versioned));
  CHECK(versioned.total == GIB && versioned.used == 3 << 20 && versioned.reserved == 0);
  versioned.version = 2;
  CHECK_RESULT(NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
               (int)CALL(nvmlDeviceGetMemoryInfo_v2, device, &versioned));
  usedBytes = 5 << 20;
  for (int i = 0; i < 1000 && memory.used != usedBytes; i++) {
    usleep(10000);
    CHECK_OK(CALL(nvmlDeviceGetMemoryInfo, device, &memory));
  }
  CHECK(memory.used == usedBytes);
}

static void utilization_isOfTheShare_andAtMostAHundred(void) {
  nvmlDevice_t device = begin(0);
  nvmlUtilization_t rates;
  CHECK_OK(CALL(nvmlDeviceGetUtilizationRates, device, &rates));
  CHECK(rates.gpu == 40 && rates.memory == 0);
  CHECK_OK(CALL(nvmlDeviceGetHandleByIndex_v2, 1u, &device));
  CHECK_OK(CALL(nvmlDeviceGetUtilizationRates, device, &rates));
  CHECK(rates.gpu == 100);
}

static void processes_ofALease_areListedInEachVersion(void) {
  nvmlDevice_t device = begin(0);
  nvmlProcessInfo_v1_t v1[4];
  nvmlProcessInfo_v2_t v2[4];
  nvmlProcessDetail_t details[4];
  nvmlProcessDetailList_t list = {NVML_VERSION(nvmlProcessDetailList_t, 1), 0, 4, details};
  unsigned count = 0;
  CHECK_RESULT(NVML_ERROR_INSUFFICIENT_SIZE,
               (int)CALL(nvmlDeviceGetComputeRunningProcesses_v3, device, &count, NULL));
  CHECK(count == 2);
  CHECK_OK(CALL(nvmlDeviceGetComputeRunningProcesses_v3, device, &count, v2));
  CHECK(count == 2 && v2[1].pid == 42 && v2[1].usedGpuMemory == 2 << 20);
  CHECK(v2[1].gpuInstanceId == 0xFFFFFFFF);
  count = 4;
  CHECK_OK(CALL(nvmlDeviceGetComputeRunningProcesses, device, &count, v1));
  CHECK(count == 2 && v1[0].pid == 41 && v1[0].usedGpuMemory == 1 << 20);
  CHECK_OK(CALL(nvmlDeviceGetRunningProcessDetailList, device, &list));
  CHECK(list.count == 2 && details[1].pid == 42 && details[1].usedProtectedMemory == 0);
  list.version++;
  CHECK_RESULT(NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
               (int)CALL(nvmlDeviceGetRunningProcessDetailList, device, &list));
  count = 4;
  CHECK_OK(CALL(nvmlDeviceGetGraphicsRunningProcesses_v3, device, &count, v2));
  CHECK(count == 0);
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

static void measurements_ofACardThatHasThem_areAnswered(void) {
  nvmlDevice_t device = begin(0);
  nvmlTemperature_t versioned = {.version = NVML_VERSION(nvmlTemperature_t, 1)};
  unsigned number;
  unsigned long long errors;
  CHECK_OK(CALL(nvmlDeviceGetTemperature, device, 0u, &number));
  CHECK(number == 41);
  CHECK_RESULT(NVML_ERROR_INVALID_ARGUMENT, (int)CALL(nvmlDeviceGetTemperature, device, 1u, &number));
  CHECK_OK(CALL(nvmlDeviceGetTemperatureV, device, &versioned));
  CHECK(versioned.celsius == 41);
  versioned.version++;
  CHECK_RESULT(NVML_ERROR_ARGUMENT_VERSION_MISMATCH, (int)CALL(nvmlDeviceGetTemperatureV, device, &versioned));
  CHECK_OK(CALL(nvmlDeviceGetPowerUsage, device, &number));
  CHECK(number == 71250);
  CHECK_OK(CALL(nvmlDeviceGetPowerManagementLimit, device, &number));
  CHECK(number == 700000);
  CHECK_OK(CALL(nvmlDeviceGetPerformanceState, device, &number));
  CHECK(number == 0);
  static const unsigned clocks[] = {1980, 1965, 2619, 1545};
  for (unsigned type = 0; type < 4; type++) {
    CHECK_OK(CALL(nvmlDeviceGetClockInfo, device, type, &number));
    CHECK(number == clocks[type]);
    CHECK_OK(CALL(nvmlDeviceGetClock, device, type, 0u, &number));
    CHECK(number == clocks[type]);
  }
  CHECK_RESULT(NVML_ERROR_INVALID_ARGUMENT, (int)CALL(nvmlDeviceGetClockInfo, device, 4u, &number));
  CHECK_RESULT(NVML_ERROR_NOT_SUPPORTED, (int)CALL(nvmlDeviceGetClock, device, 1u, 1u, &number));
  CHECK_OK(CALL(nvmlDeviceGetTotalEccErrors, device, 0u, 0u, &errors));
  CHECK(errors == 4294967299);
  CHECK_OK(CALL(nvmlDeviceGetTotalEccErrors, device, 1u, 0u, &errors));
  CHECK(errors == 0);
  CHECK_RESULT(NVML_ERROR_NOT_SUPPORTED, (int)CALL(nvmlDeviceGetTotalEccErrors, device, 1u, 1u, &errors));
  CHECK_RESULT(NVML_ERROR_NOT_SUPPORTED, (int)CALL(nvmlDeviceGetFanSpeed, device, &number));
}

static void measurements_ofACardWithoutThem_areNotSupported(void) {
  nvmlDevice_t device = begin(1);
  unsigned long long number;
  CHECK_RESULT(NVML_ERROR_NOT_SUPPORTED, (int)CALL(nvmlDeviceGetTemperature, device, 0u, &number));
  CHECK_RESULT(NVML_ERROR_NOT_SUPPORTED, (int)CALL(nvmlDeviceGetPowerUsage, device, &number));
  CHECK_RESULT(NVML_ERROR_NOT_SUPPORTED, (int)CALL(nvmlDeviceGetClockInfo, device, 1u, &number));
  CHECK_RESULT(NVML_ERROR_NOT_SUPPORTED, (int)CALL(nvmlDeviceGetTotalEccErrors, device, 1u, 0u, &number));
}

static unsigned p2p(unsigned first, unsigned second, unsigned capability) {
  nvmlDevice_t one, other;
  unsigned status = 99;
  CHECK_OK(CALL(nvmlDeviceGetHandleByIndex_v2, first, &one));
  CHECK_OK(CALL(nvmlDeviceGetHandleByIndex_v2, second, &other));
  CHECK_OK(CALL(nvmlDeviceGetP2PStatus, one, other, capability, &status));
  return status;
}

static void p2pStatus_ofGpus_isAsTheirDriverTellsTheServer(void) {
  enum { READ = 0, WRITE = 1, NVLINK = 2, OK = 0, NOT_SUPPORTED = 5, UNKNOWN = 6 };
  begin(0);
  CHECK(p2p(0, 0, READ) == OK);
  CHECK(p2p(0, 1, READ) == NOT_SUPPORTED);
  CHECK_OK(CALL(nvmlShutdown));
  together = true;
  CHECK_OK(CALL(nvmlInit_v2));
  CHECK(p2p(0, 1, READ) == OK);
  CHECK(p2p(0, 1, WRITE) == OK);
  CHECK(p2p(0, 1, NVLINK) == UNKNOWN);
  CHECK(p2p(1, 0, READ) == UNKNOWN);
  together = false;
  CHECK_OK(CALL(nvmlShutdown));
}

static nvmlReturn_t register_events(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set) {
  return ((nvmlReturn_t(*)(nvmlDevice_t, unsigned long long, nvmlEventSet_t))(void (*)(void))function(
      "nvmlDeviceRegisterEvents"))(device, types, set);
}

/** Of three faults before and three after, of which the second is of another type. */
static void event_faultOfTheGpu_isToldOnceToWhoRegistered(void) {
  nvmlDevice_t device = begin(0);
  nvmlEventSet_t set, other;
  nvmlEventData_t data;
  CHECK_OK(CALL(nvmlEventSetCreate, &set));
  CHECK_OK(CALL(nvmlEventSetCreate, &other));
  faults[0] = "3", faults[1] = "63 48 94";
  CHECK_RESULT(NVML_ERROR_NOT_SUPPORTED, (int)register_events(device, 1, set));
  CHECK_OK(register_events(device, 8, set));
  CHECK_OK(register_events(device, 2, other));
  CHECK_RESULT(NVML_ERROR_TIMEOUT, (int)CALL(nvmlEventSetWait_v2, set, &data, 0u));
  faults[0] = "6", faults[1] = "63 48 94 79 0 95";
  CHECK_OK(CALL(nvmlEventSetWait_v2, set, &data, 5000u));
  CHECK(data.device == device && data.type == 8 && data.data == 79 && data.gpuInstanceId == 0xFFFFFFFF);
  CHECK_OK(CALL(nvmlEventSetWait_v2, set, &data, 5000u));
  CHECK(data.data == 95);
  CHECK_RESULT(NVML_ERROR_TIMEOUT, (int)CALL(nvmlEventSetWait_v2, set, &data, 0u));
  CHECK_OK(CALL(nvmlEventSetWait_v2, other, &data, 5000u));
  CHECK(data.type == 2 && data.data == 0);
  faults[0] = "1", faults[1] = "62";
  usleep(150000);
  CHECK_RESULT(NVML_ERROR_TIMEOUT, (int)CALL(nvmlEventSetWait_v2, set, &data, 0u));
  faults[0] = "20", faults[1] = "79 79";
  CHECK_OK(CALL(nvmlEventSetWait_v2, set, &data, 5000u));
  CHECK_OK(CALL(nvmlEventSetWait_v2, set, &data, 5000u));
  CHECK_RESULT(NVML_ERROR_TIMEOUT, (int)CALL(nvmlEventSetWait_v2, set, &data, 0u));
}

static void event_waitedFor_timesOut(void) {
  nvmlDevice_t device = begin(0);
  nvmlEventSet_t set;
  nvmlEventData_t data;
  unsigned long long types;
  CHECK_OK(CALL(nvmlEventSetCreate, &set));
  CHECK_OK(CALL(nvmlDeviceGetSupportedEventTypes, device, &types));
  CHECK_OK(register_events(device, types, set));
  CHECK_RESULT(NVML_ERROR_TIMEOUT, (int)CALL(nvmlEventSetWait_v2, set, &data, 20u));
  CHECK_OK(CALL(nvmlEventSetFree, set));
  CHECK_RESULT(NVML_ERROR_INVALID_ARGUMENT, (int)CALL(nvmlEventSetWait_v2, set, &data, 20u));
}

static void fork_child_asksByItself(void) {
  nvmlDevice_t device = begin(0);
  nvmlMemory_t memory;
  CHECK_OK(CALL(nvmlDeviceGetMemoryInfo, device, &memory));
  pid_t child = fork();
  if (child == 0) {
    usleep(150000);
    _exit(CALL(nvmlDeviceGetMemoryInfo, device, &memory) || memory.total != GIB);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(connections == 2);
  CHECK_OK(CALL(nvmlDeviceGetMemoryInfo, device, &memory));
}

static void lease_thatEnds_losesItsGpus(void) {
  nvmlDevice_t device = begin(0);
  nvmlMemory_t memory;
  char name[96];
  CHECK_OK(CALL(nvmlDeviceGetName, device, name, 96u));
  refusing = true;
  usleep(150000);
  CHECK_RESULT(NVML_ERROR_GPU_IS_LOST, (int)CALL(nvmlDeviceGetMemoryInfo, device, &memory));
  CHECK_OK(CALL(nvmlDeviceGetName, device, name, 96u));
  refusing = false;
  CHECK_OK(CALL(nvmlDeviceGetMemoryInfo, device, &memory));
}

int main(void) {
  CASE(everyFunction_ofTheTable_isExported);
  CASE(everyFunction_beforeInit_isUninitialized);
  CASE(everyFunction_withNulls_fails);
  CASE(everyStub_withADevice_saysItsClass);
  CASE(everyAnswer_withADevice_leavesTheProcessAlive);
  CASE(init_severalTimes_isCounted);
  CASE(init_withoutAnAgent_findsNoDriver);
  CASE(system_ofALease_isItsOldestDrivers);
  CASE(device_ofALease_isFoundByEachOfItsNames);
  CASE(memory_ofALease_isItsShare);
  CASE(utilization_isOfTheShare_andAtMostAHundred);
  CASE(processes_ofALease_areListedInEachVersion);
  CASE(exportTable_asNvidiaSmiUsesIt_answers);
  CASE(measurements_ofACardThatHasThem_areAnswered);
  CASE(measurements_ofACardWithoutThem_areNotSupported);
  CASE(p2pStatus_ofGpus_isAsTheirDriverTellsTheServer);
  CASE(event_faultOfTheGpu_isToldOnceToWhoRegistered);
  CASE(event_waitedFor_timesOut);
  CASE(fork_child_asksByItself);
  CASE(lease_thatEnds_losesItsGpus);
  return test_result();
}
