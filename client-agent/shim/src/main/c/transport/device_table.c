// SPDX-License-Identifier: Apache-2.0
#include "transport/device_table.h"

#include "core/fork.h"
#include "ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WELCOME_HEADER_BYTES = 16, DEVICE_FIXED_BYTES = 256 + 16 + 16 + 8 };

static struct {
  uint32_t driverVersion;
  uint32_t count;
  struct device devices[MAX_DEVICES];
} devices;

/** Attributes that the shim decides, not the device; programs do without the features that are 0. */
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
  // Descriptors are the only kind of handle.
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
  // A program gets along with the oldest of its drivers.
  bool oldest = !devices.count || driverVersion < devices.driverVersion;
  if (oldest) devices.driverVersion = driverVersion;
  if (!count) return NULL;
  int32_t *attributes = malloc(sizeof *attributes * count * attributeCount);
  if (!attributes) return "no memory for the devices";
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

void devices_keep(const struct device *kept, uint32_t count) {
  memcpy(devices.devices, kept, count * sizeof *kept);
  devices.count = count;
}

static void devices_reset(void) { memset(&devices, 0, sizeof devices); }

ON_FORK(devices_reset);

uint32_t devices_count(void) { return devices.count; }

int devices_driver_version(void) { return (int)devices.driverVersion; }

int devices_cuda_version(void) {
  bool older = devices.driverVersion && devices.driverVersion < CUDA_API_VERSION;
  return older ? (int)devices.driverVersion : CUDA_API_VERSION;
}

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

static bool has_flag(CUdevice device, int32_t flag) { return (devices.devices[device].attributes[0] & flag) != 0; }

bool device_allocates_at(CUdevice device) { return has_flag(device, DEVICE_ALLOCATES_AT); }

bool devices_have_collectives(void) {
  for (uint32_t i = 0; i < devices_count(); i++) {
    if (!has_flag((CUdevice)i, DEVICE_COLLECTIVES)) return false;
  }
  return true;
}

int32_t device_attribute(CUdevice ordinal, int attribute) {
  const struct device *device = device_find(ordinal);
  if (!device || attribute <= 0 || (uint32_t)attribute >= device->attributeCount) {
    return ATTRIBUTE_UNSUPPORTED;
  }
  return device->attributes[attribute];
}
