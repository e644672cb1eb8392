// SPDX-License-Identifier: Apache-2.0
#include "graph/graph_params.h"

#include "context/primary_context.h"
#include "graph/graph_conditional.h"
#include "graph/graph_memory.h"
#include "memory/memcpy2d.h"
#include "stream/event.h"
#include "stream/stream_memory_ops.h"
#include "transport/device_table.h"

CUresult params_kernel(const CUDA_KERNEL_NODE_PARAMS *params, struct work *work) {
  struct context *context;
  const void *packed;
  size_t packedBytes;
  if (!params || (params->kernelParams && params->extra)) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = work_given_context(params->func ? NULL : params->ctx, &context);
  if (!result) result = launch_extra(params->extra, &packed, &packedBytes);
  if (result) return result;
  struct launch launch = {.grid = {params->gridDimX, params->gridDimY, params->gridDimZ},
                          .block = {params->blockDimX, params->blockDimY, params->blockDimZ},
                          .sharedBytes = params->sharedMemBytes};
  CUfunction handle = params->func ? params->func : (CUfunction)(void *)params->kern;
  // A function's own context counts, whatever is current.
  if (arena_find(&functions, handle)) context = NULL;
  return work_kernel(work, context, handle, &launch, params->kernelParams, packed, packedBytes);
}

CUresult params_kernel_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *params, struct work *work) {
  if (!params) return CUDA_ERROR_INVALID_VALUE;
  CUDA_KERNEL_NODE_PARAMS wide = {
      params->func,      params->gridDimX,  params->gridDimY,       params->gridDimZ,
      params->blockDimX, params->blockDimY, params->blockDimZ,      params->sharedMemBytes,
      params->kernelParams, params->extra,  NULL,                   NULL};
  return params->func ? params_kernel(&wide, work) : CUDA_ERROR_INVALID_VALUE;
}

CUresult params_copy(const CUDA_MEMCPY3D *params, CUcontext given, struct work *work) {
  struct context *context;
  enum copy3d_kind kind;
  if (!params) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = work_given_context(given, &context);
  if (!result) result = memcpy3d_kind(params, &kind);
  if (result) return result;
  *work = work_make(NODE_MEMCPY, context);
  work->copy = *params;
  return CUDA_SUCCESS;
}

CUresult params_fill(const CUDA_MEMSET_NODE_PARAMS *params, CUcontext given, struct work *work) {
  struct context *context;
  if (!params || !params->dst || !params->width || !params->height ||
      (params->elementSize != 1 && params->elementSize != 2 && params->elementSize != 4) ||
      params->dst % params->elementSize) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (params->height > 1 && (params->pitch % params->elementSize ||
                             params->pitch / params->elementSize < params->width)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUresult result = work_given_context(given, &context);
  if (result) return result;
  *work = work_make(NODE_MEMSET, context);
  work->fill = *params;
  return CUDA_SUCCESS;
}

CUresult params_host(const CUDA_HOST_NODE_PARAMS *params, struct work *work) {
  if (!params || !params->fn) return CUDA_ERROR_INVALID_VALUE;
  *work = work_make(NODE_HOST, NULL);
  work->host = *params;
  return CUDA_SUCCESS;
}

CUresult params_event(int type, CUevent handle, struct work *work) {
  struct context *context = NULL;
  struct event *event;
  CUresult result = event_find(handle, &context, &event);
  if (result) return result;
  *work = work_make(type, event->context);
  work->event = handle;
  return CUDA_SUCCESS;
}

CUresult params_child(CUgraph handle, struct work *work) {
  CUresult result = CUDA_SUCCESS;
  lock_take(&graphLock);
  const struct graph *child = graph_find(handle);
  if (!child || child->capturing) {
    result = CUDA_ERROR_INVALID_VALUE;
  } else if (child->allocates || child->conditional || child->conditions) {
    result = CUDA_ERROR_NOT_SUPPORTED;
  } else {
    *work = work_make(NODE_CHILD, NULL);
    work->child = graph_copy(child);
    if (!work->child) result = CUDA_ERROR_OUT_OF_MEMORY;
  }
  lock_release(&graphLock);
  return result;
}

/** A context on a device: the current one, or the device's primary one. */
static CUresult context_on(CUdevice device, struct context **context) {
  CUresult result = context_or_none(context);
  if (!result && (!*context || (*context)->device != device)) *context = context_primary(device);
  return result || *context ? result : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult allocate(struct context *context, const CUDA_MEM_ALLOC_NODE_PARAMS *params,
                         struct work *work) {
  struct graph_memory *memory;
  CUresult result = graph_memory_make(context, params->bytesize, &memory);
  if (result) return result;
  *work = work_make(NODE_MEM_ALLOC, context);
  work->alloc.memory = memory;
  work->alloc.params = *params;
  work->alloc.params.accessDescs = NULL;
  work->alloc.params.accessDescCount = 0;
  work->alloc.params.dptr = memory->address;
  return CUDA_SUCCESS;
}

CUresult params_alloc(CUDA_MEM_ALLOC_NODE_PARAMS *params, struct work *work) {
  struct context *context;
  if (!params) return CUDA_ERROR_INVALID_VALUE;
  const CUmemPoolProps *props = &params->poolProps;
  if (props->allocType != ALLOCATION_PINNED || props->handleTypes ||
      props->location.type != LOCATION_DEVICE || !device_find(props->location.id)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUresult result = context_on(props->location.id, &context);
  if (!result) result = allocate(context, params, work);
  if (!result) params->dptr = work->alloc.params.dptr;
  return result;
}

CUresult params_alloc_in(struct context *context, size_t bytes, struct work *work) {
  CUDA_MEM_ALLOC_NODE_PARAMS params = {
      .poolProps = {.allocType = ALLOCATION_PINNED,
                    .location = {.type = LOCATION_DEVICE, .id = context->device}},
      .bytesize = bytes};
  return allocate(context, &params, work);
}

CUresult params_free(CUdeviceptr address, struct work *work) {
  lock_take(&graphLock);
  bool known = graph_memory_find(address) != NULL;
  lock_release(&graphLock);
  if (!known) return CUDA_ERROR_INVALID_VALUE;
  *work = work_make(NODE_MEM_FREE, NULL);
  work->freed = address;
  return CUDA_SUCCESS;
}

CUresult params_memory(const CUDA_BATCH_MEM_OP_NODE_PARAMS *params, struct work *work) {
  struct context *context;
  if (!params) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = stream_memory_check(params->paramArray, params->count, params->flags);
  if (!result) result = work_given_context(params->ctx, &context);
  if (result) return result;
  return work_memory(work, context, params->paramArray, params->count) ? CUDA_SUCCESS
                                                                       : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult params_any(CUgraphNodeParams *params, struct work *work) {
  if (!params) return CUDA_ERROR_INVALID_VALUE;
  switch (params->type) {
    case NODE_KERNEL:
      return params_kernel(&params->kernel, work);
    case NODE_MEMCPY:
      return params_copy(&params->memcpy.copy, params->memcpy.ctx, work);
    case NODE_MEMSET:
      return params_fill(&params->memset.fill, params->memset.ctx, work);
    case NODE_HOST:
      return params_host(&params->host, work);
    case NODE_CHILD:
      return params->child.ownership ? CUDA_ERROR_NOT_SUPPORTED
                                     : params_child(params->child.graph, work);
    case NODE_EMPTY:
      *work = work_make(NODE_EMPTY, NULL);
      return CUDA_SUCCESS;
    case NODE_EVENT_WAIT:
    case NODE_EVENT_RECORD:
      return params_event(params->type, params->event, work);
    case NODE_MEM_ALLOC:
      return params_alloc(&params->alloc, work);
    case NODE_MEM_OPS:
      return params_memory(&params->memOps, work);
    case NODE_MEM_FREE:
      return params_free(params->freed, work);
    case NODE_CONDITIONAL:
      return params_conditional(&params->conditional, work);
    default:
      return params->type < 0 || params->type > NODE_CONDITIONAL ? CUDA_ERROR_INVALID_VALUE
                                                                 : CUDA_ERROR_NOT_SUPPORTED;
  }
}
