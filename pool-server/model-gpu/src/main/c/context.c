// SPDX-License-Identifier: Apache-2.0
// Contexts, each of which takes some of the card's memory for itself.
#include "driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

static const size_t usualLimits[LIMITS] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0, 0};

enum { LIMIT_STACK, LIMIT_PRINTF_FIFO, LIMIT_MALLOC_HEAP, THREADS = 2048 };

static uint64_t more(uint64_t bytes, uint64_t usual) { return bytes > usual ? bytes - usual : 0; }

/** Blocks that a context takes: usual limits are part of context=, local memory is for all threads at a time. */
static uint32_t blocks_needed(const struct context *context) {
  const size_t *limits = context->limits;
  uint64_t local = context->localBytes > limits[LIMIT_STACK] ? context->localBytes : limits[LIMIT_STACK];
  uint64_t bytes = options.contextBytes + more(limits[LIMIT_PRINTF_FIFO], usualLimits[LIMIT_PRINTF_FIFO]) +
                   more(limits[LIMIT_MALLOC_HEAP], usualLimits[LIMIT_MALLOC_HEAP]) +
                   more(local, usualLimits[LIMIT_STACK]) * THREADS * options.multiprocessors;
  uint64_t blocks = bytes / BLOCK_BYTES + (bytes % BLOCK_BYTES > 0);
  return blocks > UINT32_MAX ? UINT32_MAX : (uint32_t)blocks;
}

/** Takes or gives back memory until a context has as much as it needs. */
static bool fit(struct context *context) {
  struct card *card = gpus[context->device].card;
  uint32_t needed = blocks_needed(context), had = context->blockCount;
  if (needed > card_memory(card) / BLOCK_BYTES) return false;
  if (needed < had) card_give(card, had - needed, context->blocks + needed);
  context->blocks = realloc(context->blocks, ((size_t)needed + 1) * sizeof *context->blocks);
  if (needed > had && !card_take(card, needed - had, context->blocks + had)) return false;
  context->blockCount = needed;
  return true;
}

CUresult context_need_local(struct context *context, uint64_t bytes) {
  struct context *home = context->home;
  uint64_t before = home->localBytes;
  if (bytes <= before) return CUDA_SUCCESS;
  home->localBytes = bytes;
  if (fit(home)) return CUDA_SUCCESS;
  home->localBytes = before;
  return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult context_new(uint32_t device, struct context *home, struct context **out) {
  struct gpu *gpu = &gpus[device];
  if (!gpu->card && !work_start(gpu, device)) return CUDA_ERROR_OUT_OF_MEMORY;
  struct context *context = calloc(1, sizeof *context);
  context->device = device;
  context->home = home ? home : context;
  context->legacy = (struct stream){.context = context, .blocking = true};
  memcpy(context->limits, usualLimits, sizeof usualLimits);
  if (!home && !fit(context)) {
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
  if (!result && !primary[device]) result = context_new((uint32_t)device, NULL, &primary[device]);
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

/** Its streams are no part of it any more, even those that never move again. */
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
  if (!result) result = context_new((uint32_t)device, NULL, out);
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

API CUresult cuCtxGetLimit(size_t *value, int limit) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result && (limit < 0 || limit >= LIMITS)) result = CUDA_ERROR_INVALID_VALUE;
  if (!result) *value = context->home->limits[limit];
  return api_end(result);
}

API CUresult cuCtxSetLimit(int limit, size_t value) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result && (limit < 0 || limit >= LIMITS)) result = CUDA_ERROR_INVALID_VALUE;
  if (!result) {
    size_t *place = &context->home->limits[limit], before = *place;
    *place = value;
    if (!fit(context->home)) {
      *place = before;
      result = CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  return api_end(result);
}
