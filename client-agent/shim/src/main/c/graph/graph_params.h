// SPDX-License-Identifier: Apache-2.0
// The work of nodes as the driver API's structs describe it. What cannot be is an error; what is made
// is the caller's.
#pragma once

#include "graph/graph_work.h"

CUresult params_kernel(const CUDA_KERNEL_NODE_PARAMS *params, struct work *work);
CUresult params_kernel_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *params, struct work *work);
CUresult params_copy(const CUDA_MEMCPY3D *params, CUcontext given, struct work *work);
CUresult params_fill(const CUDA_MEMSET_NODE_PARAMS *params, CUcontext given, struct work *work);
CUresult params_host(const CUDA_HOST_NODE_PARAMS *params, struct work *work);
CUresult params_event(int type, CUevent handle, struct work *work);

/** A copy of a graph as a node's work. */
CUresult params_child(CUgraph handle, struct work *work);

/** Allocates; the address is put into params, too. */
CUresult params_alloc(CUDA_MEM_ALLOC_NODE_PARAMS *params, struct work *work);

CUresult params_free(CUdeviceptr address, struct work *work);

/** A stream's allocation as a node's work; its params are made up. */
CUresult params_alloc_in(struct context *context, size_t bytes, struct work *work);

CUresult params_memory(const CUDA_BATCH_MEM_OP_NODE_PARAMS *params, struct work *work);

CUresult params_any(CUgraphNodeParams *params, struct work *work);
