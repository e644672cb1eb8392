// SPDX-License-Identifier: Apache-2.0
// Contexts, each of which takes some of the card's memory for itself.
#include "driver.h"

#include <errno.h>
#include <stdlib.h>

static struct context *primary[MAX_CARDS];
static uint32_t retained[MAX_CARDS];
static __thread struct context *current;
extern __thread bool inHostFunction;
extern bool isInitialized;

CUresult api_begin(struct context **context) {
  pthread_mutex_lock(&modelLock);
  *context = current;
  if (inHostFunction) return CUDA_ERROR_NOT_PERMITTED;
  if (!isInitialized) return CUDA_ERROR_NOT_INITIALIZED;
  return current ? current->fault : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult api_begin_device(int device) {
  pthread_mutex_lock(&modelLock);
  if (inHostFunction) return CUDA_ERROR_NOT_PERMITTED;
  if (!isInitialized) return CUDA_ERROR_NOT_INITIALIZED;
  return device < 0 || (uint32_t)device >= options.gpus ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult api_end(CUresult result) {
  pthread_mutex_unlock(&modelLock);
  return result;
}

CUresult context_new(uint32_t device, struct context **out) {
  struct gpu *gpu = &gpus[device];
  if (!gpu->card && !work_start(gpu, device)) return CUDA_ERROR_OUT_OF_MEMORY;
  struct context *context = calloc(1, sizeof *context);
  context->device = device;
  context->home = context;
  context->legacy = (struct stream){.context = context, .blocking = true};
  context->blockCount = (uint32_t)((options.contextBytes + BLOCK_BYTES - 1) / BLOCK_BYTES);
  context->blocks = calloc(context->blockCount + 1, sizeof *context->blocks);
  if (!card_take(gpu->card, context->blockCount, context->blocks)) {
    free(context->blocks);
    free(context);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *out = context;
  return CUDA_SUCCESS;
}

/** Ends a context. Its work goes on, and handles stay valid, since events may name them. */
void context_end(struct context *context) {
  card_give(gpus[context->device].card, context->blockCount, context->blocks);
  context->blockCount = 0;
  if (current == context) current = NULL;
}

API CUresult cuDevicePrimaryCtxRetain(struct context **out, int device) {
  CUresult result = api_begin_device(device);
  if (!result && !primary[device]) result = context_new((uint32_t)device, &primary[device]);
  if (!result) {
    retained[device]++;
    *out = primary[device];
  }
  return api_end(result);
}

static CUresult release(uint32_t device) {
  if (!retained[device]) return CUDA_ERROR_INVALID_CONTEXT;
  if (--retained[device] == 0) {
    context_end(primary[device]);
    primary[device] = NULL;
  }
  return CUDA_SUCCESS;
}

API CUresult cuDevicePrimaryCtxRelease_v2(int device) {
  CUresult result = api_begin_device(device);
  return api_end(result ? result : release((uint32_t)device));
}

API CUresult cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
  CUresult result = api_begin_device(device);
  return api_end(result ? result : flags & ~0x1fu ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
}

/** Its streams are no part of it any more, even those that stand still for ever. */
API CUresult cuDevicePrimaryCtxReset_v2(int device) {
  CUresult result = api_begin_device(device);
  if (!result && primary[device]) {
    primary[device]->fault = CUDA_SUCCESS;
    primary[device]->streams = NULL;
    primary[device]->legacy = (struct stream){.context = primary[device], .blocking = true};
  }
  return api_end(result);
}

API CUresult cuCtxCreate_v2(struct context **out, unsigned flags, int device) {
  (void)flags;
  CUresult result = api_begin_device(device);
  if (!result) result = context_new((uint32_t)device, out);
  if (!result) current = *out;
  return api_end(result);
}

API CUresult cuCtxDestroy_v2(struct context *context) {
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  pthread_mutex_lock(&modelLock);
  context_end(context);
  return api_end(CUDA_SUCCESS);
}

API CUresult cuCtxSetCurrent(struct context *context) {
  current = context;
  return CUDA_SUCCESS;
}

API CUresult cuCtxSynchronize(void) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result) {
    struct work *tail = context_tail(context);
    work_await(tail);
    work_drop(tail);
    result = context->fault;
  }
  return api_end(result);
}

enum { LIMITS = 8 };

static size_t limits[LIMITS] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0, 0};

API CUresult cuCtxGetLimit(size_t *value, int limit) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result && (limit < 0 || limit >= LIMITS)) result = CUDA_ERROR_INVALID_VALUE;
  if (!result) *value = limits[limit];
  return api_end(result);
}

API CUresult cuCtxSetLimit(int limit, size_t value) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result && (limit < 0 || limit >= LIMITS)) result = CUDA_ERROR_INVALID_VALUE;
  if (!result) limits[limit] = value;
  return api_end(result);
}
