// SPDX-License-Identifier: Apache-2.0
// The structs of the driver API's graph calls.
#pragma once

#include "core/driver.h"

struct CUDA_KERNEL_NODE_PARAMS_v1 {
  CUfunction func;
  unsigned int gridDimX, gridDimY, gridDimZ;
  unsigned int blockDimX, blockDimY, blockDimZ;
  unsigned int sharedMemBytes;
  void **kernelParams;
  void **extra;
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
LAYOUT(CUDA_KERNEL_NODE_PARAMS_v1);
LAYOUT(CUDA_HOST_NODE_PARAMS);
LAYOUT(CUDA_MEM_ALLOC_NODE_PARAMS);
LAYOUT(CUDA_BATCH_MEM_OP_NODE_PARAMS);
LAYOUT(CUgraphEdgeData);
LAYOUT(CUDA_GRAPH_INSTANTIATE_PARAMS);
LAYOUT(CUgraphExecUpdateResultInfo);
LAYOUT(CUkernelNodeAttrValue);
LAYOUT(CUgraphNodeParams);
#undef LAYOUT
