// SPDX-License-Identifier: Apache-2.0
#include "context/device.h"

#include "ops.h"
#include "entry/proc_address.h"
#include "transport/session.h"
#include "shim.h"
#include "context/visible_devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WELCOME_HEADER_BYTES = 16, DEVICE_FIXED_BYTES = 256 + 16 + 16 + 8 };

static struct {
  uint32_t driverVersion;
  uint32_t count;
  struct device devices[MAX_DEVICES];
} devices;

/** What is the shim's to carry or not, whatever the device can; programs do without what is 0. */
static const struct {
  int attribute;
  int32_t value;
} overrides[] = {
    {19, 1},   // CAN_MAP_HOST_MEMORY
    {41, 1},   // UNIFIED_ADDRESSING
    {83, 1},   // MANAGED_MEMORY
    {86, 0},   // HOST_NATIVE_ATOMIC_SUPPORTED
    {88, 0},   // PAGEABLE_MEMORY_ACCESS
    {89, 0},   // CONCURRENT_MANAGED_ACCESS
    {91, 0},   // CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
    {96, 0},   // COOPERATIVE_MULTI_DEVICE_LAUNCH
    {98, 0},   // CAN_FLUSH_REMOTE_WRITES
    {100, 0},  // PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES
    {101, 0},  // DIRECT_MANAGED_MEM_ACCESS_FROM_HOST
    {104, 0},  // HANDLE_TYPE_WIN32_HANDLE_SUPPORTED
    {105, 0},  // HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED
    {110, 0},  // GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED
    {112, 0},  // SPARSE_CUDA_ARRAY_SUPPORTED
    {113, 0},  // READ_ONLY_HOST_REGISTER_SUPPORTED
    {114, 0},  // TIMELINE_SEMAPHORE_INTEROP_SUPPORTED
    {116, 0},  // GPU_DIRECT_RDMA_SUPPORTED
    {117, 0},  // GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS
    {121, 0},  // DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED
    {124, 0},  // DMA_BUF_SUPPORTED
    {128, 0},  // HANDLE_TYPE_FABRIC_SUPPORTED
    {129, 0},  // UNIFIED_FUNCTION_POINTERS
    {132, 0},  // MULTICAST_SUPPORTED
    {136, 0},  // MEM_DECOMPRESS_ALGORITHM_MASK
    {137, 0},  // MEM_DECOMPRESS_MAXIMUM_LENGTH
    {141, 0},  // HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
    {142, 0},  // HOST_NUMA_MEMORY_POOLS_SUPPORTED
    {143, 0},  // HOST_NUMA_MULTINODE_IPC_SUPPORTED
    {144, 0},  // HOST_MEMORY_POOLS_SUPPORTED
    {145, 0},  // HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
    {146, 0},  // HOST_ALLOC_DMA_BUF_SUPPORTED
    {147, 0},  // ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED
};

static uint32_t word(const uint8_t *at) {
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

static void override(int32_t *attributes, uint32_t attributeCount) {
  for (size_t i = 0; i < sizeof overrides / sizeof *overrides; i++) {
    uint32_t attribute = (uint32_t)overrides[i].attribute;
    if (attribute < attributeCount && attributes[attribute] != ATTRIBUTE_UNSUPPORTED) {
      attributes[attribute] = overrides[i].value;
    }
  }
  // Of the kinds of handles there are descriptors.
  if (attributeCount > ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES &&
      attributes[ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES] > 0) {
    attributes[ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES] &= 1;
  }
}

/** Servers number their GPUs alike: those of further connections are of PCI domains of their own. */
static void tell_apart(struct device *device, int32_t *attributes) {
  unsigned int domain;
  char rest[sizeof device->pciBusId];
  if (sscanf(device->pciBusId, "%x:%15s", &domain, rest) != 2) return;
  domain = (domain & 0xfff) | device->connection << 12;
  snprintf(device->pciBusId, sizeof device->pciBusId, "%04x:%.10s", domain, rest);
  if (attributes[ATTRIBUTE_PCI_DOMAIN_ID] != ATTRIBUTE_UNSUPPORTED) {
    attributes[ATTRIBUTE_PCI_DOMAIN_ID] = (int32_t)domain;
  }
}

const char *devices_load(uint32_t connection, const uint8_t *welcome, uint32_t bytes) {
  if (bytes < WELCOME_HEADER_BYTES) return "the worker's first frame is too short";
  uint32_t driverVersion = word(welcome);
  uint32_t count = word(welcome + 4);
  uint32_t attributeCount = word(welcome + 8);
  if (word(welcome + 12) != CONTRACT_DIGEST) {
    return "the worker was built from another version of gpupool than this libcuda.so.1: use the same"
           " version on both sides";
  }
  if (count > MAX_DEVICES - devices.count || attributeCount < MIN_ATTRIBUTES || attributeCount > MAX_ATTRIBUTES) {
    return "the worker's first frame is wrong";
  }
  uint32_t deviceBytes = (DEVICE_FIXED_BYTES + 4 * attributeCount + 7) & ~7u;
  if (bytes < WELCOME_HEADER_BYTES + count * deviceBytes) return "the worker's first frame is too short";
  int32_t *attributes = malloc(sizeof *attributes * (count * attributeCount + 1));
  if (!attributes) return "no memory for the devices";
  // A program gets along with the oldest of its drivers.
  bool oldest = !devices.count || driverVersion < devices.driverVersion;
  if (oldest) {
    devices.driverVersion = driverVersion;
    proc_limit((int)driverVersion);
  }
  for (uint32_t i = 0; i < count; i++) {
    const uint8_t *at = welcome + WELCOME_HEADER_BYTES + i * deviceBytes;
    struct device *device = &devices.devices[devices.count++];
    device->connection = connection;
    device->ordinal = i;
    device->attributeCount = attributeCount;
    memcpy(device->name, at, sizeof device->name - 1);
    memcpy(device->uuid, at + 256, sizeof device->uuid);
    memcpy(device->pciBusId, at + 272, sizeof device->pciBusId - 1);
    memcpy(&device->totalMemoryBytes, at + 288, 8);
    int32_t *own = attributes + i * attributeCount;
    memcpy(own, at + DEVICE_FIXED_BYTES, 4 * attributeCount);
    override(own, attributeCount);
    device->attributes = own;
    if (connection) tell_apart(device, own);
  }
  return NULL;
}

void devices_select(void) { devices.count = visible_select(devices.devices, devices.count); }

void devices_reset(void) { memset(&devices, 0, sizeof devices); }

uint32_t devices_count(void) { return devices.count; }

const struct device *device_find(CUdevice ordinal) {
  return ordinal >= 0 && (uint32_t)ordinal < devices.count ? &devices.devices[ordinal] : NULL;
}

uint32_t device_ordinal(CUdevice device) { return devices.devices[device].ordinal; }

uint32_t device_connection(CUdevice device) { return devices.devices[device].connection; }

bool device_of_ordinal(uint32_t connection, uint32_t ordinal, CUdevice *device) {
  for (uint32_t i = 0; i < devices.count; i++) {
    if (devices.devices[i].connection != connection || devices.devices[i].ordinal != ordinal) continue;
    *device = (CUdevice)i;
    return true;
  }
  return false;
}

int32_t device_attribute(CUdevice ordinal, int attribute) {
  const struct device *device = device_find(ordinal);
  if (!device || attribute < 0 || (uint32_t)attribute >= device->attributeCount) {
    return ATTRIBUTE_UNSUPPORTED;
  }
  return device->attributes[attribute];
}

CUresult shim_cuDriverGetVersion(int *driverVersion) {
  if (!driverVersion) return CUDA_ERROR_INVALID_VALUE;
  // Programs ask before cuInit whether the driver is new enough, and the driver is the server's.
  bool known = session_attach() == CUDA_SUCCESS && devices.driverVersion < CUDA_API_VERSION;
  *driverVersion = known ? (int)devices.driverVersion : CUDA_API_VERSION;
  if (known) proc_compare(*driverVersion);
  return CUDA_SUCCESS;
}

CUresult shim_cuDeviceGet(CUdevice *device, int ordinal) {
  if (!device) return CUDA_ERROR_INVALID_VALUE;
  if (!device_find(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult shim_cuDeviceGetCount(int *count) {
  if (!count) return CUDA_ERROR_INVALID_VALUE;
  *count = (int)devices.count;
  return CUDA_SUCCESS;
}

CUresult shim_cuDeviceGetName(char *name, int len, CUdevice dev) {
  const struct device *device = device_find(dev);
  if (!device) return CUDA_ERROR_INVALID_DEVICE;
  if (!name || len <= 0) return CUDA_ERROR_INVALID_VALUE;
  snprintf(name, (size_t)len, "%s", device->name);
  return CUDA_SUCCESS;
}

CUresult shim_cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev) {
  const struct device *device = device_find(dev);
  if (!device) return CUDA_ERROR_INVALID_DEVICE;
  if (!uuid) return CUDA_ERROR_INVALID_VALUE;
  memcpy(uuid->bytes, device->uuid, sizeof uuid->bytes);
  return CUDA_SUCCESS;
}

CUresult shim_cuDeviceGetUuid(CUuuid *uuid, CUdevice dev) { return shim_cuDeviceGetUuid_v2(uuid, dev); }

CUresult shim_cuDeviceGetLuid(char *luid, unsigned int *deviceNodeMask, CUdevice dev) {
  (void)luid, (void)deviceNodeMask;
  return device_find(dev) ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_DEVICE;
}

CUresult shim_cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev) {
  const struct device *device = device_find(dev);
  if (!device) return CUDA_ERROR_INVALID_DEVICE;
  if (!bytes) return CUDA_ERROR_INVALID_VALUE;
  *bytes = device->totalMemoryBytes;
  return CUDA_SUCCESS;
}

CUresult shim_cuDeviceTotalMem(unsigned int *bytes, CUdevice dev) {
  size_t all;
  CUresult result = shim_cuDeviceTotalMem_v2(&all, dev);
  if (result) return result;
  if (!bytes) return CUDA_ERROR_INVALID_VALUE;
  *bytes = all > UINT32_MAX ? UINT32_MAX : (unsigned int)all;
  return CUDA_SUCCESS;
}

CUresult shim_cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev) {
  if (!device_find(dev)) return CUDA_ERROR_INVALID_DEVICE;
  int32_t value = device_attribute(dev, attrib);
  if (!pi || value == ATTRIBUTE_UNSUPPORTED) return CUDA_ERROR_INVALID_VALUE;
  *pi = value;
  return CUDA_SUCCESS;
}

CUresult shim_cuDeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements, CUarray_format format,
                                                 unsigned numChannels, CUdevice dev) {
  if (!device_find(dev)) return CUDA_ERROR_INVALID_DEVICE;
  int32_t width = device_attribute(dev, ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH);
  bool channels = numChannels == 1 || numChannels == 2 || numChannels == 4;
  if (!maxWidthInElements || !channels || format <= 0 || width < 0) return CUDA_ERROR_INVALID_VALUE;
  *maxWidthInElements = (size_t)width;
  return CUDA_SUCCESS;
}

CUresult shim_cuDeviceGetExecAffinitySupport(int *pi, CUexecAffinityType type, CUdevice dev) {
  if (!device_find(dev)) return CUDA_ERROR_INVALID_DEVICE;
  if (!pi || type != 0) return CUDA_ERROR_INVALID_VALUE;
  *pi = 0;
  return CUDA_SUCCESS;
}

CUresult shim_cuDeviceGetProperties(CUdevprop *prop, CUdevice dev) {
  if (!device_find(dev)) return CUDA_ERROR_INVALID_DEVICE;
  if (!prop) return CUDA_ERROR_INVALID_VALUE;
  prop->maxThreadsPerBlock = device_attribute(dev, ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  for (int i = 0; i < 3; i++) {
    prop->maxThreadsDim[i] = device_attribute(dev, ATTRIBUTE_MAX_BLOCK_DIM_X + i);
    prop->maxGridSize[i] = device_attribute(dev, ATTRIBUTE_MAX_GRID_DIM_X + i);
  }
  prop->sharedMemPerBlock = device_attribute(dev, ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  prop->totalConstantMemory = device_attribute(dev, ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  prop->SIMDWidth = device_attribute(dev, ATTRIBUTE_WARP_SIZE);
  prop->memPitch = device_attribute(dev, ATTRIBUTE_MAX_PITCH);
  prop->regsPerBlock = device_attribute(dev, ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  prop->clockRate = device_attribute(dev, ATTRIBUTE_CLOCK_RATE);
  prop->textureAlign = device_attribute(dev, ATTRIBUTE_TEXTURE_ALIGNMENT);
  return CUDA_SUCCESS;
}

CUresult shim_cuDeviceComputeCapability(int *major, int *minor, CUdevice dev) {
  if (!device_find(dev)) return CUDA_ERROR_INVALID_DEVICE;
  if (!major || !minor) return CUDA_ERROR_INVALID_VALUE;
  *major = device_attribute(dev, ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  *minor = device_attribute(dev, ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  return CUDA_SUCCESS;
}

CUresult shim_cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev) {
  const struct device *device = device_find(dev);
  if (!device) return CUDA_ERROR_INVALID_DEVICE;
  if (!pciBusId || len <= 0) return CUDA_ERROR_INVALID_VALUE;
  snprintf(pciBusId, (size_t)len, "%s", device->pciBusId);
  return CUDA_SUCCESS;
}

/** Domain, bus, device and function of [domain:]bus:device[.function]; false if it is not one. */
static bool parse_bus_id(const char *text, unsigned int parts[4]) {
  parts[0] = parts[3] = 0;
  int used = 0;
  bool full = sscanf(text, "%x:%x:%x%n", &parts[0], &parts[1], &parts[2], &used) == 3;
  if (!full) {
    parts[0] = 0;
    if (sscanf(text, "%x:%x%n", &parts[1], &parts[2], &used) != 2) return false;
  }
  return text[used] == '\0' || sscanf(text + used, ".%x", &parts[3]) == 1;
}

CUresult shim_cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId) {
  unsigned int wanted[4], own[4];
  if (!dev || !pciBusId || !parse_bus_id(pciBusId, wanted)) return CUDA_ERROR_INVALID_VALUE;
  for (uint32_t i = 0; i < devices.count; i++) {
    if (parse_bus_id(devices.devices[i].pciBusId, own) && memcmp(wanted, own, sizeof own) == 0) {
      *dev = (CUdevice)i;
      return CUDA_SUCCESS;
    }
  }
  return CUDA_ERROR_INVALID_DEVICE;
}

CUresult shim_cuDeviceGetHostAtomicCapabilities(unsigned int *capabilities,
                                                const CUatomicOperation *operations,
                                                unsigned int count, CUdevice dev) {
  if (!device_find(dev)) return CUDA_ERROR_INVALID_DEVICE;
  if (!capabilities || !operations || !count) return CUDA_ERROR_INVALID_VALUE;
  // Host and device have a copy each: HOST_NATIVE_ATOMIC_SUPPORTED is 0.
  for (unsigned int i = 0; i < count; i++) capabilities[i] = 0;
  return CUDA_SUCCESS;
}
