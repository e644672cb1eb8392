// SPDX-License-Identifier: Apache-2.0
// The driver API as the shim needs it: its types, the structs it looks into, and constants of cuda.h.
#pragma once

#include "wire.h"

#include <stdbool.h>

#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define LIKELY(condition) __builtin_expect(!!(condition), 1)

#define CU_STREAM_LEGACY ((CUstream)1)
#define CU_STREAM_PER_THREAD ((CUstream)2)

// The CUDA version this shim speaks: newer servers are presented as this.
#define CUDA_API_VERSION 13000

// CUdevice_attribute
enum {
  ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
  ATTRIBUTE_MAX_GRID_DIM_X = 5,
  ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  ATTRIBUTE_TOTAL_CONSTANT_MEMORY = 9,
  ATTRIBUTE_WARP_SIZE = 10,
  ATTRIBUTE_MAX_PITCH = 11,
  ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
  ATTRIBUTE_CLOCK_RATE = 13,
  ATTRIBUTE_TEXTURE_ALIGNMENT = 14,
  ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
  ATTRIBUTE_PCI_BUS_ID = 33,
  ATTRIBUTE_PCI_DEVICE_ID = 34,
  ATTRIBUTE_PCI_DOMAIN_ID = 50,
  ATTRIBUTE_UNIFIED_ADDRESSING = 41,
  ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
  ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH = 69,
  ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED = 78,
  ATTRIBUTE_MANAGED_MEMORY = 83,
  ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 89,
  ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
  ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
  ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 103,
  ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
  ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES = 119,
  ATTRIBUTE_IPC_EVENT_SUPPORTED = 125,
};

struct CUuuid {
  uint8_t bytes[16];
};

struct CUdevprop {
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int sharedMemPerBlock;
  int totalConstantMemory;
  int SIMDWidth;
  int memPitch;
  int regsPerBlock;
  int clockRate;
  int textureAlign;
};

struct CUexecAffinityParam {
  int type;
  unsigned int smCount;
};

struct CUctxCreateParams {
  CUexecAffinityParam *execAffinityParams;
  int numExecAffinityParams;
  void *cigParams;
};

struct CUDA_MEMCPY2D {
  size_t srcXInBytes, srcY;
  int srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  size_t srcPitch;
  size_t dstXInBytes, dstY;
  int dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  size_t dstPitch;
  size_t WidthInBytes, Height;
};

struct CUDA_MEMCPY2D_v1 {
  unsigned int srcXInBytes, srcY;
  int srcMemoryType;
  const void *srcHost;
  CUdeviceptr_v1 srcDevice;
  CUarray srcArray;
  unsigned int srcPitch;
  unsigned int dstXInBytes, dstY;
  int dstMemoryType;
  void *dstHost;
  CUdeviceptr_v1 dstDevice;
  CUarray dstArray;
  unsigned int dstPitch;
  unsigned int WidthInBytes, Height;
};

struct CUDA_MEMCPY3D_v1 {
  unsigned int srcXInBytes, srcY, srcZ, srcLOD;
  int srcMemoryType;
  const void *srcHost;
  CUdeviceptr_v1 srcDevice;
  CUarray srcArray;
  void *reserved0;
  unsigned int srcPitch, srcHeight;
  unsigned int dstXInBytes, dstY, dstZ, dstLOD;
  int dstMemoryType;
  void *dstHost;
  CUdeviceptr_v1 dstDevice;
  CUarray dstArray;
  void *reserved1;
  unsigned int dstPitch, dstHeight;
  unsigned int WidthInBytes, Height, Depth;
};

/** A CUmemLocation, which the generated types know by its size alone. */
struct location {
  int type;  // enum location_type
  int id;
};

static inline struct location location_of(const CUmemLocation *given) {
  struct location location;
  __builtin_memcpy(&location, given, sizeof location);
  return location;
}

enum location_type { LOCATION_DEVICE = 1, LOCATION_HOST = 2 };

struct CUmemAccessDesc {
  struct location location;
  int flags;  // enum access_flags
};

enum access_flags { ACCESS_NONE = 0, ACCESS_READ = 1, ACCESS_READ_WRITE = 3 };

struct CUmemPoolProps {
  int allocType;
  int handleTypes;
  struct location location;
  void *win32SecurityAttributes;
  size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};

enum { ALLOCATION_PINNED = 1 };

struct CUDA_MEMCPY3D_PEER {
  size_t srcXInBytes, srcY, srcZ, srcLOD;
  int srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  CUcontext srcContext;
  size_t srcPitch, srcHeight;
  size_t dstXInBytes, dstY, dstZ, dstLOD;
  int dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  CUcontext dstContext;
  size_t dstPitch, dstHeight;
  size_t WidthInBytes, Height, Depth;
};

struct CUmemcpyAttributes {
  int srcAccessOrder;
  struct location srcLocHint, dstLocHint;
  unsigned int flags;
};

/** One end of a copy of a batch: memory, or an array with the place in it. */
struct operand3d {
  int type;
  union {
    struct {
      CUdeviceptr ptr;
      size_t rowLength, layerHeight;  // in elements and rows
      struct location hint;
    } memory;
    struct {
      CUarray array;
      size_t x, y, z;
    } array;
  } at;
};

struct CUDA_MEMCPY3D_BATCH_OP {
  struct operand3d src, dst;
  size_t width, height, depth;
  int srcAccessOrder;
  unsigned int flags;
};

struct CUDA_ARRAY_DESCRIPTOR_v1 {
  unsigned int Width, Height;
  CUarray_format Format;
  unsigned int NumChannels;
};

struct CUDA_ARRAY3D_DESCRIPTOR {
  size_t Width, Height, Depth;
  CUarray_format Format;
  unsigned int NumChannels, Flags;
};

struct CUDA_ARRAY3D_DESCRIPTOR_v1 {
  unsigned int Width, Height, Depth;
  CUarray_format Format;
  unsigned int NumChannels, Flags;
};

struct CUDA_ARRAY_MEMORY_REQUIREMENTS {
  size_t size, alignment;
  unsigned int reserved[4];
};

// Looked into by the worker alone.
struct CUDA_RESOURCE_VIEW_DESC {
  uint64_t words[14];
};

struct CUmemAllocationProp {
  int type;
  int requestedHandleTypes;
  struct location location;
  void *win32HandleMetaData;
  uint8_t allocFlags[8];
};

struct CUstreamAttrValue {
  uint64_t words[8];
};

#define LAYOUT(type) _Static_assert(sizeof(struct type) == type##_BYTES, #type)
LAYOUT(CUuuid);
LAYOUT(CUdevprop);
LAYOUT(CUexecAffinityParam);
LAYOUT(CUctxCreateParams);
LAYOUT(CUDA_MEMCPY2D);
LAYOUT(CUDA_MEMCPY2D_v1);
LAYOUT(CUDA_MEMCPY3D_v1);
LAYOUT(CUmemAccessDesc);
LAYOUT(CUmemPoolProps);
LAYOUT(CUDA_MEMCPY3D_PEER);
LAYOUT(CUmemcpyAttributes);
LAYOUT(CUDA_MEMCPY3D_BATCH_OP);
LAYOUT(CUDA_ARRAY_DESCRIPTOR_v1);
LAYOUT(CUDA_ARRAY3D_DESCRIPTOR);
LAYOUT(CUDA_ARRAY3D_DESCRIPTOR_v1);
LAYOUT(CUDA_ARRAY_MEMORY_REQUIREMENTS);
LAYOUT(CUDA_RESOURCE_VIEW_DESC);
LAYOUT(CUmemAllocationProp);
LAYOUT(CUstreamAttrValue);
#undef LAYOUT
_Static_assert(sizeof(struct location) == CUmemLocation_BYTES, "location");
