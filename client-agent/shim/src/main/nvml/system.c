// SPDX-License-Identifier: Apache-2.0
// The library, the driver, and what there is beside devices: nothing.
#include "answers.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define NVML_OF_NO_LEASE "13.580.00"

NVML(nvmlInit_v2, void) { return lease_open(); }

NVML(nvmlInit, void) { return lease_open(); }

NVML(nvmlInitWithFlags, unsigned flags) {
  return flags & ~(unsigned)NVML_INIT_FLAGS ? NVML_ERROR_INVALID_ARGUMENT : lease_open();
}

NVML(nvmlShutdown, void) { return lease_close(); }

EXPORTED const char *nvmlErrorString(nvmlReturn_t result);
const char *nvmlErrorString(nvmlReturn_t result) {
  static const char *const texts[] = {
      "Success",
      "Uninitialized",
      "Invalid Argument",
      "Not Supported",
      "Insufficient Permissions",
      "Already Initialized",
      "Not Found",
      "Insufficient Size",
      "Insufficient External Power",
      "Driver Not Loaded",
      "Timeout",
      "Interrupt Request Issue",
      "NVML Shared Library Not Found",
      "Function Not Found",
      "Corrupted infoROM",
      "GPU is lost",
      "GPU requires reset",
      "GPU access blocked by the operating system",
      "Driver/library version mismatch",
      "In use by another client",
      "Insufficient Memory",
      "No data",
      "Requested vGPU operation is not available on target device",
      "Insufficient Resources",
      "Requested clock is not supported",
      "Argument version mismatch",
      "Deprecated",
      "Not ready",
      "No GPU found",
      "Invalid state",
      "Reset type not supported",
  };
  size_t index = (size_t)result;
  return index < sizeof texts / sizeof *texts ? texts[index] : "Unknown Error";
}

NVML(nvmlSystemGetDriverVersion, char *version, unsigned length) {
  struct lease lease;
  TRY(lease_get(&lease));
  return put_text(version, length, lease.driver);
}

/** Answers before nvmlInit, too, as NVIDIA's library does. */
NVML(nvmlSystemGetNVMLVersion, char *version, unsigned length) {
  struct lease lease;
  char text[96] = NVML_OF_NO_LEASE;
  if (!lease_get(&lease)) snprintf(text, sizeof text, "%d.%s", lease.cudaVersion / 1000, lease.driver);
  return put_text(version, length, text);
}

NVML(nvmlSystemGetCudaDriverVersion, int *version) {
  struct lease lease;
  TRY(lease_get(&lease));
  REQUIRE(version);
  *version = lease.cudaVersion;
  return NVML_SUCCESS;
}

NVML(nvmlSystemGetCudaDriverVersion_v2, int *version) {
  return nvmlSystemGetCudaDriverVersion(version);
}

NVML(nvmlSystemGetDriverBranch, nvmlSystemDriverBranchInfo_t *info, unsigned length) {
  struct lease lease;
  TRY(lease_get(&lease));
  REQUIRE(info);
  if (info->version != NVML_VERSION(nvmlSystemDriverBranchInfo_t, 1)) {
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  }
  char text[16];
  snprintf(text, sizeof text, "r%d_00", atoi(lease.driver));
  return put_text(info->branch, length < sizeof info->branch ? length : sizeof info->branch, text);
}

/** The command by which a process was started, or the name under which the pool knows it. */
static bool process_name(unsigned pid, char *name, size_t bytes) {
  char path[32];
  snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t count = file < 0 ? -1 : read(file, name, bytes - 1);
  if (file >= 0) close(file);
  name[count > 0 ? count : 0] = '\0';
  return *name;
}

static bool leased_name(unsigned pid, char *name, size_t bytes) {
  struct lease lease;
  struct gpu gpu;
  if (lease_get(&lease)) return false;
  for (unsigned i = 0; i < lease.gpus; i++) {
    if (gpu_now(lease_handle(i), &gpu)) return false;
    for (unsigned p = 0; p < gpu.processCount; p++) {
      if (gpu.processes[p].pid != pid) continue;
      snprintf(name, bytes, "%s", gpu.processes[p].name);
      return true;
    }
  }
  return false;
}

NVML(nvmlSystemGetProcessName, unsigned pid, char *name, unsigned length) {
  char text[4096];
  if (!lease_is_open()) return NVML_ERROR_UNINITIALIZED;
  if (!name || !length) return NVML_ERROR_INVALID_ARGUMENT;
  if (!process_name(pid, text, sizeof text) && !leased_name(pid, text, sizeof text)) {
    return NVML_ERROR_NOT_FOUND;
  }
  snprintf(name, length, "%s", text);
  return strlen(text) < length ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}

/** There are none of these. */
static nvmlReturn_t none(unsigned *count) {
  if (!lease_is_open()) return NVML_ERROR_UNINITIALIZED;
  REQUIRE(count);
  *count = 0;
  return NVML_SUCCESS;
}

NVML(nvmlSystemGetHicVersion, unsigned *count, void *entries) {
  (void)entries;
  return none(count);
}

NVML(nvmlUnitGetCount, unsigned *count) { return none(count); }

NVML(nvmlGetExcludedDeviceCount, unsigned *count) { return none(count); }

NVML(nvmlGetBlacklistDeviceCount, unsigned *count) { return none(count); }

NVML(nvmlGetExcludedDeviceInfoByIndex, unsigned index, void *info) {
  (void)index;
  (void)info;
  return NVML_ERROR_INVALID_ARGUMENT;
}

NVML(nvmlGetBlacklistDeviceInfoByIndex, unsigned index, void *info) {
  return nvmlGetExcludedDeviceInfoByIndex(index, info);
}
