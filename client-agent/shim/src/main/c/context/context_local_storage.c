// SPDX-License-Identifier: Apache-2.0
#include "context/context_local_storage.h"

#include "context/context.h"
#include "core/fork.h"

#include <stdlib.h>

struct stored {
  struct stored *next;
  uint64_t contextId;
  CUcontext context;
  void *key, *value;
  storage_destructor destructor;
};

#define CURRENT ((CUcontext)(intptr_t)-1)

static struct lock lock;
static struct stored *all;

static struct context *find_context(CUcontext handle) {
  // Some libraries name the current context by a handle of its own.
  if (handle && handle != CURRENT) return arena_find(&contexts, handle);
  struct context *context;
  context_current(&context);
  return context;
}

/** The pointer to a value; the list is locked. */
static struct stored **find_value(uint64_t contextId, void *key) {
  struct stored **at = &all;
  while (*at && ((*at)->contextId != contextId || (*at)->key != key)) at = &(*at)->next;
  return at;
}

CUresult storage_put(CUcontext handle, void *key, void *value, storage_destructor destructor) {
  struct context *context = find_context(handle);
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  struct stored *stored = malloc(sizeof *stored);
  if (!stored) return CUDA_ERROR_OUT_OF_MEMORY;
  CUcontext own = (CUcontext)(void *)context;
  lock_take(&lock);
  struct stored **at = find_value(context->id, key);
  bool taken = *at != NULL;
  if (!taken) {
    *stored = (struct stored){all, context->id, own, key, value, destructor};
    all = stored;
  }
  lock_release(&lock);
  if (taken) free(stored);
  return taken ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult storage_remove(CUcontext handle, void *key) {
  struct context *context = find_context(handle);
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  lock_take(&lock);
  struct stored **at = find_value(context->id, key);
  struct stored *stored = *at;
  if (stored) *at = stored->next;
  lock_release(&lock);
  free(stored);
  return stored ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult storage_get(void **value, CUcontext handle, void *key) {
  struct context *context = find_context(handle);
  if (!value) return CUDA_ERROR_INVALID_VALUE;
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  lock_take(&lock);
  struct stored *stored = *find_value(context->id, key);
  if (stored) *value = stored->value;
  lock_release(&lock);
  return stored ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/** Calls the destructors of what a context stored, and forgets it. */
static void storage_clear(struct context *context) {
  for (;;) {
    lock_take(&lock);
    struct stored **at = &all;
    while (*at && (*at)->contextId != context->id) at = &(*at)->next;
    struct stored *stored = *at;
    if (stored) *at = stored->next;
    lock_release(&lock);
    if (!stored) return;
    if (stored->destructor) stored->destructor(stored->context, stored->key, stored->value);
    free(stored);
  }
}
BEFORE_CONTEXT_END(storage_clear);

static void storage_reset(void) {
  lock.word = 0;
  all = NULL;
}

ON_FORK(storage_reset);
