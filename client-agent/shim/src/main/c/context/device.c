// SPDX-License-Identifier: Apache-2.0
// The entry points that describe devices.
#include "shim.h"
#include "transport/device_table.h"

#include <stdio.h>
#include <string.h>

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
  for (uint32_t i = 0; i < devices_count(); i++) {
    if (parse_bus_id(device_find((CUdevice)i)->pciBusId, own) && memcmp(wanted, own, sizeof own) == 0) {
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
