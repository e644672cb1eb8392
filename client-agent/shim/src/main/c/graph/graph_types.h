// SPDX-License-Identifier: Apache-2.0
// The structs of the driver API's graph calls.
#pragma once

#include "core/driver.h"

// CUgraphNodeType
enum node_type {
  NODE_KERNEL = 0,
  NODE_MEMCPY = 1,
  NODE_MEMSET = 2,
  NODE_HOST = 3,
  NODE_CHILD = 4,
  NODE_EMPTY = 5,
  NODE_EVENT_WAIT = 6,
  NODE_EVENT_RECORD = 7,
  NODE_MEM_ALLOC = 10,
  NODE_MEM_FREE = 11,
  NODE_MEM_OPS = 12,
  NODE_CONDITIONAL = 13,
};

struct CUDA_KERNEL_NODE_PARAMS {
  CUfunction func;
  unsigned int gridDimX, gridDimY, gridDimZ;
  unsigned int blockDimX, blockDimY, blockDimZ;
  unsigned int sharedMemBytes;
  void **kernelParams;
  void **extra;
  CUkernel kern;
  CUcontext ctx;
};

struct CUDA_KERNEL_NODE_PARAMS_v1 {
  CUfunction func;
  unsigned int gridDimX, gridDimY, gridDimZ;
  unsigned int blockDimX, blockDimY, blockDimZ;
  unsigned int sharedMemBytes;
  void **kernelParams;
  void **extra;
};

struct CUDA_MEMSET_NODE_PARAMS {
  CUdeviceptr dst;
  size_t pitch;
  unsigned int value;
  unsigned int elementSize;
  size_t width, height;
};

struct CUDA_HOST_NODE_PARAMS {
  CUhostFn fn;
  void *userData;
};

struct CUDA_MEM_ALLOC_NODE_PARAMS {
  CUmemPoolProps poolProps;
  const CUmemAccessDesc *accessDescs;
  size_t accessDescCount;
  size_t bytesize;
  CUdeviceptr dptr;
};

struct CUDA_BATCH_MEM_OP_NODE_PARAMS {
  CUcontext ctx;
  unsigned int count;
  CUstreamBatchMemOpParams *paramArray;
  unsigned int flags;
};

struct CUgraphEdgeData {
  uint8_t from_port, to_port, type;
  uint8_t reserved[5];
};

struct CUDA_GRAPH_INSTANTIATE_PARAMS {
  cuuint64_t flags;
  CUstream hUploadStream;
  CUgraphNode hErrNode_out;
  int result_out;
};

struct CUgraphExecUpdateResultInfo {
  CUgraphExecUpdateResult result;
  CUgraphNode errorNode;
  CUgraphNode errorFromNode;
};

struct CUkernelNodeAttrValue {
  uint8_t bytes[64];
};

struct conditional_params {
  CUgraphConditionalHandle handle;
  int type;
  unsigned int size;
  CUgraph *graphs;
  CUcontext ctx;
};

struct CUgraphNodeParams {
  CUgraphNodeType type;
  int reserved0[3];
  union {
    long long reserved1[29];
    CUDA_KERNEL_NODE_PARAMS kernel;
    struct {
      int flags, reserved;
      CUcontext ctx;
      CUDA_MEMCPY3D copy;
    } memcpy;
    struct {
      CUDA_MEMSET_NODE_PARAMS fill;
      CUcontext ctx;
    } memset;
    CUDA_HOST_NODE_PARAMS host;
    struct {
      CUgraph graph;
      int ownership;
    } child;
    CUevent event;
    CUDA_MEM_ALLOC_NODE_PARAMS alloc;
    CUdeviceptr freed;
    CUDA_BATCH_MEM_OP_NODE_PARAMS memOps;
    struct conditional_params conditional;
  };
  long long reserved2;
};

#define LAYOUT(type) _Static_assert(sizeof(struct type) == type##_BYTES, #type)
LAYOUT(CUDA_KERNEL_NODE_PARAMS);
LAYOUT(CUDA_KERNEL_NODE_PARAMS_v1);
LAYOUT(CUDA_MEMSET_NODE_PARAMS);
LAYOUT(CUDA_HOST_NODE_PARAMS);
LAYOUT(CUDA_MEM_ALLOC_NODE_PARAMS);
LAYOUT(CUDA_BATCH_MEM_OP_NODE_PARAMS);
LAYOUT(CUgraphEdgeData);
LAYOUT(CUDA_GRAPH_INSTANTIATE_PARAMS);
LAYOUT(CUgraphExecUpdateResultInfo);
LAYOUT(CUkernelNodeAttrValue);
LAYOUT(CUgraphNodeParams);
#undef LAYOUT
