// SPDX-License-Identifier: Apache-2.0
// NVML while things happen to a lease: faults, forks, its end.
#include "nvml_agent.h"

static nvmlReturn_t register_events(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set) {
  return ((nvmlReturn_t(*)(nvmlDevice_t, unsigned long long, nvmlEventSet_t))(void (*)(void))function(
      "nvmlDeviceRegisterEvents"))(device, types, set);
}

/** Sets up three faults before registration and three after it, the second of another type. */
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
  CASE(event_faultOfTheGpu_isToldOnceToWhoRegistered);
  CASE(event_waitedFor_timesOut);
  CASE(fork_child_asksByItself);
  CASE(lease_thatEnds_losesItsGpus);
  return test_result();
}
