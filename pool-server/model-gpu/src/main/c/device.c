// SPDX-License-Identifier: Apache-2.0
// The driver's start, and what its cards say of themselves.
#include "driver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gpu gpus[MAX_CARDS];
bool isInitialized;

/** Attributes of all cards, those of the Hopper generation. */
static const struct {
  int attribute, value;
} attributes[] = {
    {1, 1024},         // threads a block
    {2, 1024},         {3, 1024},   {4, 64},
    {5, 2147483647},   {6, 65535},  {7, 65535},
    {8, 48 << 10},     // shared memory a block
    {9, 64 << 10},     // constant memory
    {10, 32},          // threads a warp
    {11, 2147483647},  // pitch
    {12, 64 << 10},    // registers a block
    {13, 1980000},     // kHz
    {14, 512},         // alignment of textures
    {15, 1},           // copies beside kernels
    {19, 1},           // host memory can be mapped
    {31, 1},           // kernels beside each other
    {32, 1},           // ECC
    {36, 2619000},     // kHz of the memory
    {37, 5120},        // bits of its bus
    {38, 50 << 20},    // second-level cache
    {39, 2048},        // threads a multiprocessor
    {40, 2},           // copy engines
    {41, 1},           // unified addressing
    {51, 32},          // alignment of pitched textures
    {75, 9},           {76, 0},     // compute capability
    {78, 1},           // priorities
    {79, 1},           {80, 1},
    {81, 228 << 10},   // shared memory a multiprocessor
    {82, 64 << 10},    // registers a multiprocessor
    {87, 2},           // single to double precision
    {95, 1},           // cooperative launches
    {97, 227 << 10},   // shared memory a block may ask for
    {102, 1},          // virtual memory
    {103, 1},          // descriptors of it
    {106, 32},         // blocks a multiprocessor
    {108, 0},
    {111, 1 << 10},    // shared memory that the system takes of a block
    {115, 1},          // pools
    {120, 1},          // clusters
    {122, 1},          {123, 1},    // values in memory of 64 bits, and none of some bits
    {127, 1},          // tensor maps
};

API CUresult cuInit(unsigned flags) {
  const char *problem = options_read(getenv("GPUPOOL_MODEL"));
  if (problem) fprintf(stderr, "%s\n", problem);
  if (problem || flags) return CUDA_ERROR_INVALID_VALUE;
  // Here, and not when the first context is made: that may be in a process which is confined.
  for (uint32_t i = 0; !options.init && i < options.gpus; i++) {
    if (!card_make(i)) {
      fprintf(stderr, "/dev/shm/gpupool-model-%s-%u: %s\n", options.name, i, strerror(errno));
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  isInitialized = !options.init;
  return (CUresult)options.init;
}

API CUresult cuGetErrorName(CUresult result, const char **name) {
  static const struct {
    CUresult result;
    const char *name;
  } names[] = {
      {CUDA_SUCCESS, "CUDA_SUCCESS"},
      {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
      {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
      {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"},
      {100, "CUDA_ERROR_NO_DEVICE"},
      {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
      {802, "CUDA_ERROR_SYSTEM_NOT_READY"},
      {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
      {999, "CUDA_ERROR_UNKNOWN"},
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (names[i].result != result) continue;
    *name = names[i].name;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuDriverGetVersion(int *version) {
  *version = (int)options.version;
  return CUDA_SUCCESS;
}

API CUresult cuDeviceGetCount(int *count) {
  CUresult result = api_begin_device(0);
  *count = (int)options.gpus;
  return api_end(result);
}

API CUresult cuDeviceGet(int *device, int ordinal) {
  CUresult result = api_begin_device(ordinal);
  *device = ordinal;
  return api_end(result);
}

API CUresult cuDeviceGetName(char *name, int length, int device) {
  CUresult result = api_begin_device(device);
  if (!result) snprintf(name, (size_t)length, "Modelled GPU");
  return api_end(result);
}

API CUresult cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
  CUresult result = api_begin_device(device);
  memset(uuid, 0x6d, 16);
  uuid[15] = (unsigned char)device;
  return api_end(result);
}

API CUresult cuDeviceGetPCIBusId(char *id, int length, int device) {
  CUresult result = api_begin_device(device);
  if (!result) snprintf(id, (size_t)length, "0000:%02x:00.0", device + 1);
  return api_end(result);
}

API CUresult cuDeviceTotalMem_v2(size_t *bytes, int device) {
  CUresult result = api_begin_device(device);
  *bytes = options.memoryBytes;
  return api_end(result);
}

API CUresult cuDeviceGetAttribute(int *value, int attribute, int device) {
  CUresult result = api_begin_device(device);
  if (!result && (attribute <= 0 || attribute > 150)) result = CUDA_ERROR_INVALID_VALUE;
  *value = attribute == 16 ? (int)options.multiprocessors : attribute == 33 ? device + 1 : 0;
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
    if (attributes[i].attribute == attribute) *value = attributes[i].value;
  }
  return api_end(result);
}

// Peers: all cards of each other

static bool reaches[MAX_CARDS][MAX_CARDS];

API CUresult cuDeviceCanAccessPeer(int *can, int device, int peer) {
  CUresult result = api_begin_device(device);
  if (!result && (peer < 0 || (uint32_t)peer >= options.gpus)) result = CUDA_ERROR_INVALID_DEVICE;
  *can = device != peer;
  return api_end(result);
}

API CUresult cuDeviceGetP2PAttribute(int *value, int attribute, int device, int peer) {
  CUresult result = api_begin_device(device);
  if (!result && (device == peer || attribute < 1 || attribute > 4)) result = CUDA_ERROR_INVALID_VALUE;
  *value = attribute > 1;
  return api_end(result);
}

API CUresult cuCtxEnablePeerAccess(struct context *peer, unsigned flags) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result && (flags || !peer || peer == context)) result = CUDA_ERROR_INVALID_VALUE;
  if (!result) {
    bool *reached = &reaches[context->device][peer->device];
    if (*reached) result = CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    *reached = true;
  }
  return api_end(result);
}

API CUresult cuCtxDisablePeerAccess(struct context *peer) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result) {
    bool *reached = &reaches[context->device][peer->device];
    if (!*reached) result = CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    *reached = false;
  }
  return api_end(result);
}
