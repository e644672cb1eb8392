// SPDX-License-Identifier: Apache-2.0
// The fabric of NVLink switches that GPUs may be members of: none is passed on, which is an answer
// of its own (programs that ask do so to know whether they may share memory by fabric handles).
#include "answers.h"

enum { FABRIC_NOT_SUPPORTED = 0, FABRIC_V2_BYTES = offsetof(nvmlGpuFabricInfo_v3_t, healthSummary) };
enum { FABRIC_V2 = FABRIC_V2_BYTES | 2 << 24 };

NVML(nvmlDeviceGetGpuFabricInfo, nvmlDevice_t device, nvmlGpuFabricInfo_t *info) {
  TRY(lease_check(device));
  REQUIRE(info);
  *info = (nvmlGpuFabricInfo_t){.state = FABRIC_NOT_SUPPORTED};
  return NVML_SUCCESS;
}

NVML(nvmlDeviceGetGpuFabricInfoV, nvmlDevice_t device, nvmlGpuFabricInfo_v3_t *info) {
  TRY(lease_check(device));
  REQUIRE(info);
  unsigned version = info->version;
  size_t bytes = version == FABRIC_V2                            ? FABRIC_V2_BYTES
                 : version == NVML_VERSION(nvmlGpuFabricInfo_v3_t, 3) ? sizeof(nvmlGpuFabricInfo_v3_t)
                                                                      : 0;
  if (!bytes) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  memset(info, 0, bytes);
  info->version = version;
  info->state = FABRIC_NOT_SUPPORTED;
  return NVML_SUCCESS;
}
