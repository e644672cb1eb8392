// SPDX-License-Identifier: Apache-2.0
// Which devices there are, and what they are.
#include "answers.h"

#include <strings.h>

enum { NVIDIA_VENDOR = 0x10DE, DISPLAY_CONTROLLER = 3, CONTROLLER_3D = 2, BUS_PCIE = 2 };
enum { CLOCK_GRAPHICS = 0, CLOCK_SM = 1, CLOCK_MEMORY = 2 };

NVML(nvmlDeviceGetCount_v2, unsigned *count) {
  struct lease lease;
  TRY(lease_get(&lease));
  REQUIRE(count);
  *count = lease.gpus;
  return NVML_SUCCESS;
}

NVML(nvmlDeviceGetCount, unsigned *count) { return nvmlDeviceGetCount_v2(count); }

NVML(nvmlDeviceGetHandleByIndex_v2, unsigned index, nvmlDevice_t *device) {
  struct lease lease;
  TRY(lease_get(&lease));
  if (!device || index >= lease.gpus) return NVML_ERROR_INVALID_ARGUMENT;
  *device = lease_handle(index);
  return NVML_SUCCESS;
}

NVML(nvmlDeviceGetHandleByIndex, unsigned index, nvmlDevice_t *device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

typedef bool matches(const struct gpu *gpu, const void *wanted);

static nvmlReturn_t find(matches *is, const void *wanted, nvmlDevice_t *device) {
  struct lease lease;
  struct gpu gpu;
  TRY(lease_get(&lease));
  if (!wanted || !device) return NVML_ERROR_INVALID_ARGUMENT;
  for (unsigned i = 0; i < lease.gpus; i++) {
    TRY(gpu_known(lease_handle(i), &gpu));
    if (!is(&gpu, wanted)) continue;
    *device = lease_handle(i);
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}

static bool has_uuid(const struct gpu *gpu, const void *wanted) {
  return strcasecmp(gpu->uuid, wanted) == 0;
}

/** Reads UUIDs as text: the digits after "GPU-", without dashes. */
static bool has_uuid_bytes(const struct gpu *gpu, const void *wanted) {
  const unsigned char *bytes = wanted;
  const char *at = gpu->uuid + 4;
  for (int i = 0; i < 16; i++) {
    unsigned byte;
    if (*at == '-') at++;
    if (sscanf(at, "%2x", &byte) != 1 || byte != bytes[i]) return false;
    at += 2;
  }
  return true;
}

struct bus_id {
  unsigned domain, bus, device;
};

static bool is_at(const struct gpu *gpu, const void *wanted) {
  const struct bus_id *id = wanted;
  return gpu->domain == id->domain && gpu->bus == id->bus && gpu->device == id->device;
}

NVML(nvmlDeviceGetHandleByUUID, const char *uuid, nvmlDevice_t *device) {
  return find(has_uuid, uuid, device);
}

NVML(nvmlDeviceGetHandleByUUIDV, const nvmlUUID_t *uuid, nvmlDevice_t *device) {
  if (!lease_is_open()) return NVML_ERROR_UNINITIALIZED;
  REQUIRE(uuid);
  if (uuid->version != NVML_VERSION(nvmlUUID_t, 1)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  char text[sizeof uuid->value.text + 1];
  snprintf(text, sizeof text, "%.41s", uuid->value.text);
  if (uuid->type == NVML_UUID_ASCII) return find(has_uuid, text, device);
  if (uuid->type == NVML_UUID_BINARY) return find(has_uuid_bytes, uuid->value.bytes, device);
  return NVML_ERROR_INVALID_ARGUMENT;
}

NVML(nvmlDeviceGetHandleByPciBusId_v2, const char *text, nvmlDevice_t *device) {
  struct bus_id id = {0};
  if (text && sscanf(text, "%x:%x:%x", &id.domain, &id.bus, &id.device) != 3) {
    id.domain = 0;
    if (sscanf(text, "%x:%x", &id.bus, &id.device) != 2) return find(is_at, NULL, NULL);
  }
  return find(is_at, text ? &id : NULL, device);
}

NVML(nvmlDeviceGetHandleByPciBusId, const char *text, nvmlDevice_t *device) {
  return nvmlDeviceGetHandleByPciBusId_v2(text, device);
}

NVML(nvmlDeviceGetIndex, nvmlDevice_t device, unsigned *index) {
  return put_number(device, index, lease_index(device));
}

NVML(nvmlDeviceGetMinorNumber, nvmlDevice_t device, unsigned *minor) {
  return nvmlDeviceGetIndex(device, minor);
}

NVML(nvmlDeviceGetName, nvmlDevice_t device, char *name, unsigned length) {
  struct gpu gpu;
  TRY(gpu_known(device, &gpu));
  return put_text(name, length, gpu.name);
}

NVML(nvmlDeviceGetUUID, nvmlDevice_t device, char *uuid, unsigned length) {
  struct gpu gpu;
  TRY(gpu_known(device, &gpu));
  return put_text(uuid, length, gpu.uuid);
}

static bool is_soft(const struct gpu *gpu) { return strcmp(gpu->backend, "soft") == 0; }

NVML(nvmlDeviceGetBrand, nvmlDevice_t device, unsigned *brand) {
  // More of a name comes before less of it.
  static const struct {
    const char *begin;
    unsigned brand;
  } brands[] = {
      {"NVIDIA GeForce", 5}, {"GeForce", 5},     {"NVIDIA TITAN", 6}, {"TITAN", 6},
      {"Quadro RTX", 12},    {"Quadro", 1},      {"NVIDIA RTX", 13},  {"Tesla", 2},
      {"NVIDIA", 14},
  };
  struct gpu gpu;
  TRY(gpu_known(device, &gpu));
  REQUIRE(brand);
  *brand = 0;
  if (is_soft(&gpu)) return NVML_SUCCESS;
  for (size_t i = 0; i < sizeof brands / sizeof *brands; i++) {
    if (strncasecmp(gpu.name, brands[i].begin, strlen(brands[i].begin)) != 0) continue;
    *brand = brands[i].brand;
    break;
  }
  return NVML_SUCCESS;
}

NVML(nvmlDeviceGetArchitecture, nvmlDevice_t device, unsigned *architecture) {
  struct gpu gpu;
  TRY(gpu_known(device, &gpu));
  REQUIRE(architecture);
  unsigned cc = gpu.ccMajor * 10 + gpu.ccMinor;
  *architecture = cc >= 100  ? 10   // Blackwell
                  : cc >= 90 ? 9    // Hopper
                  : cc >= 89 ? 8    // Ada
                  : cc >= 80 ? 7    // Ampere
                  : cc >= 75 ? 6    // Turing
                  : cc >= 70 ? 5    // Volta
                  : cc >= 60 ? 4    // Pascal
                  : cc >= 50 ? 3    // Maxwell
                  : cc >= 30 ? 2    // Kepler
                             : 0xFFFFFFFF;
  return NVML_SUCCESS;
}

NVML(nvmlDeviceGetCudaComputeCapability, nvmlDevice_t device, int *major, int *minor) {
  struct gpu gpu;
  TRY(gpu_known(device, &gpu));
  if (!major || !minor) return NVML_ERROR_INVALID_ARGUMENT;
  *major = (int)gpu.ccMajor;
  *minor = (int)gpu.ccMinor;
  return NVML_SUCCESS;
}

/** FP32 units of a multiprocessor, as CUDA's programming guide has them. */
static unsigned cores(const struct gpu *gpu) {
  unsigned cc = gpu->ccMajor * 10 + gpu->ccMinor;
  if (cc < 50) return 192;
  return cc == 60 || (cc >= 70 && cc <= 80) ? 64 : 128;
}

NVML(nvmlDeviceGetNumGpuCores, nvmlDevice_t device, unsigned *count) {
  struct gpu gpu;
  TRY(gpu_known(device, &gpu));
  REQUIRE(count);
  if (!gpu.multiprocessors) return NVML_ERROR_NOT_SUPPORTED;
  *count = gpu.multiprocessors * cores(&gpu);
  return NVML_SUCCESS;
}

NVML(nvmlDeviceGetMemoryBusWidth, nvmlDevice_t device, unsigned *bits) {
  struct gpu gpu;
  TRY(gpu_known(device, &gpu));
  REQUIRE(bits);
  if (!gpu.busBits) return NVML_ERROR_NOT_SUPPORTED;
  *bits = gpu.busBits;
  return NVML_SUCCESS;
}

NVML(nvmlDeviceGetMaxClockInfo, nvmlDevice_t device, unsigned type, unsigned *megahertz) {
  struct gpu gpu;
  TRY(gpu_known(device, &gpu));
  REQUIRE(megahertz);
  unsigned kilohertz = type == CLOCK_GRAPHICS || type == CLOCK_SM ? gpu.clockKilohertz
                       : type == CLOCK_MEMORY                     ? gpu.memoryClockKilohertz
                                                                  : 0;
  if (!kilohertz) return NVML_ERROR_NOT_SUPPORTED;
  *megahertz = kilohertz / 1000;
  return NVML_SUCCESS;
}

static unsigned vendor(const struct gpu *gpu) { return is_soft(gpu) ? 0 : NVIDIA_VENDOR; }

NVML(nvmlDeviceGetPciInfo_v2, nvmlDevice_t device, nvmlPciInfo_t *pci) {
  struct gpu gpu;
  TRY(gpu_known(device, &gpu));
  REQUIRE(pci);
  // Older callers' structs end before the longer bus id.
  snprintf(pci->legacyBusId, sizeof pci->legacyBusId, "%04X:%02X:%02X.0", gpu.domain & 0xFFFF,
           gpu.bus & 0xFF, gpu.device & 0xFF);
  pci->domain = gpu.domain;
  pci->bus = gpu.bus;
  pci->device = gpu.device;
  pci->deviceId = vendor(&gpu);
  pci->subsystemId = 0;
  return NVML_SUCCESS;
}

NVML(nvmlDeviceGetPciInfo, nvmlDevice_t device, nvmlPciInfo_t *pci) {
  return nvmlDeviceGetPciInfo_v2(device, pci);
}

NVML(nvmlDeviceGetPciInfo_v3, nvmlDevice_t device, nvmlPciInfo_t *pci) {
  TRY(nvmlDeviceGetPciInfo_v2(device, pci));
  snprintf(pci->busId, sizeof pci->busId, "%08X:%02X:%02X.0", pci->domain, pci->bus, pci->device);
  return NVML_SUCCESS;
}

NVML(nvmlDeviceGetPciInfoExt, nvmlDevice_t device, nvmlPciInfoExt_t *pci) {
  nvmlPciInfo_t info;
  TRY(nvmlDeviceGetPciInfo_v3(device, &info));
  REQUIRE(pci);
  if (pci->version != NVML_VERSION(nvmlPciInfoExt_t, 1)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  pci->domain = info.domain;
  pci->bus = info.bus;
  pci->device = info.device;
  pci->deviceId = info.deviceId;
  pci->subsystemId = info.subsystemId;
  pci->baseClass = DISPLAY_CONTROLLER;
  pci->subClass = CONTROLLER_3D;
  memcpy(pci->busId, info.busId, sizeof pci->busId);
  return NVML_SUCCESS;
}

NVML(nvmlDeviceGetBoardId, nvmlDevice_t device, unsigned *board) {
  struct gpu gpu;
  TRY(gpu_known(device, &gpu));
  REQUIRE(board);
  *board = gpu.domain << 16 | gpu.bus << 8 | gpu.device;
  return NVML_SUCCESS;
}

NVML(nvmlDeviceGetMultiGpuBoard, nvmlDevice_t device, unsigned *multiple) {
  return put_number(device, multiple, 0);
}

NVML(nvmlDeviceGetBusType, nvmlDevice_t device, unsigned *type) {
  return put_number(device, type, BUS_PCIE);
}

NVML(nvmlDeviceOnSameBoard, nvmlDevice_t first, nvmlDevice_t second, int *same) {
  TRY(lease_check(first));
  TRY(lease_check(second));
  REQUIRE(same);
  *same = first == second;
  return NVML_SUCCESS;
}
