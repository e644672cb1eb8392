// SPDX-License-Identifier: Apache-2.0
// How devices are set up, and how they lie to each other and to this machine's processors.
#include "answers.h"

#include <time.h>
#include <unistd.h>

enum { ADDRESSING_NONE = 0, VIRTUALIZATION_NONE = 0, COMPUTE_DEFAULT = 0, LAST_RESTRICTED_API = 1 };
enum { TOPOLOGY_INTERNAL = 0, TOPOLOGY_SYSTEM = 50 };
enum { P2P_WRITE = 1, P2P_NVLINK = 2, P2P_LAST = 4, P2P_OK = 0, P2P_NOT_SUPPORTED = 5, P2P_UNKNOWN = 6 };
enum { LONG_BITS = 8 * sizeof(unsigned long) };

#define CONSTANT(name, value) \
  NVML(name, nvmlDevice_t device, unsigned *mode) { return put_number(device, mode, value); }

CONSTANT(nvmlDeviceGetPersistenceMode, NVML_FEATURE_ENABLED)
CONSTANT(nvmlDeviceGetDisplayMode, NVML_FEATURE_DISABLED)
CONSTANT(nvmlDeviceGetDisplayActive, NVML_FEATURE_DISABLED)
CONSTANT(nvmlDeviceGetComputeMode, COMPUTE_DEFAULT)
CONSTANT(nvmlDeviceGetAccountingMode, NVML_FEATURE_DISABLED)
CONSTANT(nvmlDeviceGetVirtualizationMode, VIRTUALIZATION_NONE)
CONSTANT(nvmlDeviceIsMigDeviceHandle, 0)
CONSTANT(nvmlDeviceGetMaxMigDeviceCount, 0)

NVML(nvmlDeviceGetAddressingMode, nvmlDevice_t device, nvmlDeviceAddressingMode_t *mode) {
  TRY(lease_check(device));
  REQUIRE(mode);
  if (mode->version != NVML_VERSION(nvmlDeviceAddressingMode_t, 1)) {
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  }
  mode->value = ADDRESSING_NONE;
  return NVML_SUCCESS;
}

NVML(nvmlDeviceGetAPIRestriction, nvmlDevice_t device, unsigned api, unsigned *restricted) {
  TRY(lease_check(device));
  if (api > LAST_RESTRICTED_API) return NVML_ERROR_INVALID_ARGUMENT;
  return put_number(device, restricted, NVML_FEATURE_ENABLED);
}

NVML(nvmlDeviceGetTopologyCommonAncestor, nvmlDevice_t first, nvmlDevice_t second,
     unsigned *level) {
  TRY(lease_check(second));
  return put_number(first, level, first == second ? TOPOLOGY_INTERNAL : TOPOLOGY_SYSTEM);
}

NVML(nvmlDeviceGetTopologyNearestGpus, nvmlDevice_t device, unsigned level, unsigned *count,
     nvmlDevice_t *devices) {
  struct lease lease;
  TRY(lease_check(device));
  TRY(lease_get(&lease));
  if (!count || (*count && !devices)) return NVML_ERROR_INVALID_ARGUMENT;
  unsigned room = *count, found = 0;
  for (unsigned i = 0; i < lease.gpus && level >= TOPOLOGY_SYSTEM; i++) {
    if (lease_handle(i) == device) continue;
    if (found < room) devices[found] = lease_handle(i);
    found++;
  }
  *count = found;
  return NVML_SUCCESS;
}

NVML(nvmlDeviceGetP2PStatus, nvmlDevice_t first, nvmlDevice_t second, unsigned capability,
     unsigned *status) {
  struct gpu one, other;
  TRY(gpu_known(first, &one));
  TRY(gpu_known(second, &other));
  if (!status || capability > P2P_LAST) return NVML_ERROR_INVALID_ARGUMENT;
  bool soft = strcmp(one.backend, "soft") == 0;
  bool near = strcmp(one.server, other.server) == 0 && strcmp(one.backend, other.backend) == 0;
  bool reached = first == second || one.peers >> lease_index(second) & 1;
  *status = !near || (soft && capability == P2P_NVLINK)     ? P2P_NOT_SUPPORTED
            : soft || (reached && capability <= P2P_WRITE) ? P2P_OK
                                                            : P2P_UNKNOWN;
  return NVML_SUCCESS;
}

/** The GPU is as far from one processor of this machine as from any other. */
NVML(nvmlDeviceGetCpuAffinity, nvmlDevice_t device, unsigned words, unsigned long *set) {
  TRY(lease_check(device));
  REQUIRE(set);
  long processors = sysconf(_SC_NPROCESSORS_CONF);
  memset(set, 0, words * sizeof *set);
  for (long i = 0; i < processors && i < (long)words * LONG_BITS; i++) {
    set[i / LONG_BITS] |= 1UL << i % LONG_BITS;
  }
  return NVML_SUCCESS;
}

NVML(nvmlDeviceGetCpuAffinityWithinScope, nvmlDevice_t device, unsigned words, unsigned long *set,
     unsigned scope) {
  (void)scope;
  return nvmlDeviceGetCpuAffinity(device, words, set);
}

NVML(nvmlDeviceSetCpuAffinity, nvmlDevice_t device) { return lease_check(device); }

NVML(nvmlDeviceClearCpuAffinity, nvmlDevice_t device) { return lease_check(device); }

NVML(nvmlDeviceGetFieldValues, nvmlDevice_t device, int count, nvmlFieldValue_t *values) {
  TRY(lease_check(device));
  if (count < 1 || !values) return NVML_ERROR_INVALID_ARGUMENT;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  for (int i = 0; i < count; i++) {
    values[i].timestampMicros = now.tv_sec * (long long)MICROS + now.tv_nsec / 1000;
    values[i].latencyMicros = 0;
    values[i].result = NVML_ERROR_NOT_SUPPORTED;
  }
  return NVML_SUCCESS;
}
