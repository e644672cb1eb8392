// SPDX-License-Identifier: Apache-2.0
// Types and numbers of NVML's binary interface, as far as gpupool answers with them.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define EXPORTED __attribute__((visibility("default")))

typedef enum {
  NVML_SUCCESS = 0,
  NVML_ERROR_UNINITIALIZED = 1,
  NVML_ERROR_INVALID_ARGUMENT = 2,
  NVML_ERROR_NOT_SUPPORTED = 3,
  NVML_ERROR_NO_PERMISSION = 4,
  NVML_ERROR_NOT_FOUND = 6,
  NVML_ERROR_INSUFFICIENT_SIZE = 7,
  NVML_ERROR_DRIVER_NOT_LOADED = 9,
  NVML_ERROR_TIMEOUT = 10,
  NVML_ERROR_GPU_IS_LOST = 15,
  NVML_ERROR_MEMORY = 20,
  NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
} nvmlReturn_t;

typedef struct gpu *nvmlDevice_t;
typedef struct event_set *nvmlEventSet_t;

enum { NVML_FEATURE_DISABLED = 0, NVML_FEATURE_ENABLED = 1 };
enum { NVML_INIT_FLAGS = 3 };  // NO_GPUS and NO_ATTACH
enum { NVML_NO_INSTANCE = 0xFFFFFFFF };
enum { NVML_UUID_ASCII = 1, NVML_UUID_BINARY = 2 };

/** The version word of a struct: its size, and its version in the top byte. */
#define NVML_VERSION(type, version) (unsigned)(sizeof(type) | (version) << 24)

typedef struct {
  char legacyBusId[16];
  unsigned domain, bus, device, deviceId, subsystemId;
  char busId[32];
} nvmlPciInfo_t;

typedef struct {
  unsigned version, domain, bus, device, deviceId, subsystemId, baseClass, subClass;
  char busId[32];
} nvmlPciInfoExt_t;

typedef struct {
  unsigned long long total, free, used;
} nvmlMemory_t;

typedef struct {
  unsigned version;
  unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;

typedef struct {
  unsigned gpu, memory;
} nvmlUtilization_t;

typedef struct {
  unsigned pid;
  unsigned long long usedGpuMemory;
} nvmlProcessInfo_v1_t;

typedef struct {
  unsigned pid;
  unsigned long long usedGpuMemory;
  unsigned gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_v2_t;

typedef struct {
  unsigned pid;
  unsigned long long usedGpuMemory;
  unsigned gpuInstanceId, computeInstanceId;
  unsigned long long usedProtectedMemory;
} nvmlProcessDetail_t;

typedef struct {
  unsigned version, mode, count;
  nvmlProcessDetail_t *processes;
} nvmlProcessDetailList_t;

typedef struct {
  unsigned version, type;
  union {
    char text[41];
    unsigned char bytes[16];
  } value;
} nvmlUUID_t;

typedef struct {
  unsigned version;
  char branch[80];
} nvmlSystemDriverBranchInfo_t;

typedef struct {
  unsigned version, value;
} nvmlDeviceAddressingMode_t;

typedef struct {
  unsigned char clusterUuid[16];
  nvmlReturn_t status;
  unsigned cliqueId;
  unsigned char state;
} nvmlGpuFabricInfo_t;

/** Version 2 ends before the last member. */
typedef struct {
  unsigned version;
  unsigned char clusterUuid[16];
  nvmlReturn_t status;
  unsigned cliqueId;
  unsigned char state;
  unsigned healthMask;
  unsigned char healthSummary;
} nvmlGpuFabricInfo_v3_t;

typedef struct {
  unsigned fieldId, scopeId;
  long long timestampMicros, latencyMicros;
  unsigned valueType;
  nvmlReturn_t result;
  unsigned long long value;
} nvmlFieldValue_t;

typedef struct {
  unsigned version, sensor;
  int celsius;
} nvmlTemperature_t;

typedef struct {
  nvmlDevice_t device;
  unsigned long long type, data;
  unsigned gpuInstanceId, computeInstanceId;
} nvmlEventData_t;

_Static_assert(sizeof(nvmlPciInfo_t) == 68, "nvmlPciInfo_t");
_Static_assert(NVML_VERSION(nvmlPciInfoExt_t, 1) == 0x1000040, "nvmlPciInfoExt_v1");
_Static_assert(NVML_VERSION(nvmlMemory_v2_t, 2) == 0x2000028, "nvmlMemory_v2");
_Static_assert(NVML_VERSION(nvmlProcessDetailList_t, 1) == 0x1000018, "nvmlProcessDetailList_v1");
_Static_assert(NVML_VERSION(nvmlUUID_t, 1) == 0x1000034, "nvmlUUID_v1");
_Static_assert(NVML_VERSION(nvmlSystemDriverBranchInfo_t, 1) == 0x1000054, "branch info");
_Static_assert(NVML_VERSION(nvmlDeviceAddressingMode_t, 1) == 0x1000008, "addressing mode");
_Static_assert(NVML_VERSION(nvmlTemperature_t, 1) == 0x100000C, "nvmlTemperature_v1");
_Static_assert(sizeof(nvmlEventData_t) == 32, "nvmlEventData_t");
_Static_assert(offsetof(nvmlGpuFabricInfo_v3_t, healthSummary) == 0x24, "nvmlGpuFabricInfo_v2");
_Static_assert(NVML_VERSION(nvmlGpuFabricInfo_v3_t, 3) == 0x3000028, "nvmlGpuFabricInfo_v3");
_Static_assert(sizeof(nvmlFieldValue_t) == 40, "nvmlFieldValue_t");
_Static_assert(sizeof(nvmlProcessDetail_t) == 32, "nvmlProcessDetail_v1_t");
