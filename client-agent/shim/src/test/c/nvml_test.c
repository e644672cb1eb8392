// SPDX-License-Identifier: Apache-2.0
// Tests of NVML's answers about a lease.
#include "nvml_agent.h"

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

/** Asks for something so late that it is asked anew. */
static nvmlReturn_t ask_anew(nvmlDevice_t device) {
  nvmlMemory_t memory;
  usleep(150000);
  return CALL(nvmlDeviceGetMemoryInfo, device, &memory);
}

static void agent_startedAgain_isShownTheLeaseThatTheFormerOneMade(void) {
  nvmlDevice_t device = begin(0);
  CHECK(!*shown);
  atomic_store(&hangingUp, true);
  CHECK_OK(ask_anew(device));
  CHECK(strcmp(shown, "L9.made") == 0);
  CHECK(connections == 2);
  // After the window the lease is gone: another is made.
  ticketIsOld = true;
  atomic_store(&hangingUp, true);
  CHECK_OK(ask_anew(device));
  CHECK(!*shown && connections == 4);
  CHECK_OK(CALL(nvmlShutdown));
  CHECK_OK(CALL(nvmlInit_v2));
  CHECK(!*shown);
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

int main(void) {
  CASE(init_severalTimes_isCounted);
  CASE(init_withoutAnAgent_findsNoDriver);
  CASE(agent_startedAgain_isShownTheLeaseThatTheFormerOneMade);
  CASE(system_ofALease_isItsOldestDrivers);
  CASE(device_ofALease_isFoundByEachOfItsNames);
  CASE(memory_ofALease_isItsShare);
  CASE(utilization_isOfTheShare_andAtMostAHundred);
  CASE(processes_ofALease_areListedInEachVersion);
  CASE(measurements_ofACardThatHasThem_areAnswered);
  CASE(measurements_ofACardWithoutThem_areNotSupported);
  CASE(p2pStatus_ofGpus_isAsTheirDriverTellsTheServer);
  return test_result();
}
