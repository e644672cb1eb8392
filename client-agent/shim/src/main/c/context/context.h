// SPDX-License-Identifier: Apache-2.0
// Contexts: primary ones, created ones, and each thread's stack of current ones.
#pragma once

#include "core/driver.h"
#include "core/handles.h"
#include "stream/stream_attributes.h"
#include "context/thread.h"

struct stored;

enum { CACHED_LIMITS = 16 };  // more than there are of CUlimit

struct context {
  struct slot slot;
  uint16_t number;  // on the call stream
  // The primary context whose memory, modules and events a green context has as its own; else itself
  struct context *home;
  bool primary;
  CUdevice device;
  unsigned int flags;
  CUresult sticky;       // the error that ended it, or CUDA_SUCCESS
  // What does not wait for its legacy default stream: streams that are non-blocking; of a home its green
  // contexts, of a green context its home
  uint32_t nonBlocking;
  uint64_t id;           // never used again
  uint32_t guestStream;   // of route.c; 0: none yet
  uint32_t mirrorStream;  // of mirror.c; 0: none yet
  CUfunc_cache cacheConfig;
  CUsharedconfig sharedConfig;
  unsigned int apiVersion;
  uint32_t limitsKnown;  // bit i: limits[i] is what the worker said
  uint64_t limits[CACHED_LIMITS];
  struct stream_attributes legacyAttributes;  // of the legacy default stream
};

/** The calling thread's current context; an error if there is none or it is broken. */
static inline CUresult context_current(struct context **context) {
  struct thread *thread = ownThread;
  *context = NULL;
  if (UNLIKELY(!thread || !thread->depth)) return CUDA_ERROR_INVALID_CONTEXT;
  struct current *top = &thread->stack[thread->depth - 1];
  if (UNLIKELY(top->context->slot.live != contexts.mark || top->context->id != top->id)) {
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  }
  *context = top->context;
  return top->context->sticky;
}

/** Whether the green context that was made current has not ended since. */
static inline bool green_is_live(const struct current *current) {
  return current->green->slot.live == contexts.mark && current->green->id == current->greenId;
}

/**
 * Whose default stream and new streams are meant where the calling thread's current context is: the green
 * context that was made current, if one was.
 */
static inline struct context *context_or_green(struct context *context) {
  struct thread *thread = ownThread;
  struct current *top = thread && thread->depth ? &thread->stack[thread->depth - 1] : NULL;
  if (LIKELY(!top || !top->green || top->context != context)) return context;
  return green_is_live(top) ? top->green : context;
}

/** A green context that is not known to the server yet; NULL if there is no room. */
struct context *context_make_green(struct context *home);

/** Ends a green context, with its streams. */
void context_end_green(struct context *green);

/** Takes note of a call's result: some errors end the context. */
CUresult context_note(struct context *context, CUresult result);

static inline CUresult context_result(struct context *context, CUresult result) {
  return LIKELY(result < CUDA_ERROR_ILLEGAL_ADDRESS) ? result : context_note(context, result);
}

/** The primary context of a device if somebody retains it, or NULL. */
struct context *context_primary(CUdevice device);

/** The current context, else any that lives; NULL if none does. */
struct context *context_any(void);

/** As context_any, of a connection. */
struct context *context_any_of(uint32_t connection);

/** As context_any_of, but one that stands for none if there is none: for calls that need no context. */
struct context *context_any_or_none(uint32_t connection);

void contexts_reset(void);

// Context-local storage, for the runtime library.
typedef void (*storage_destructor)(CUcontext context, void *key, void *value);
CUresult storage_put(CUcontext context, void *key, void *value, storage_destructor destructor);
CUresult storage_remove(CUcontext context, void *key);
CUresult storage_get(void **value, CUcontext context, void *key);
/** Calls the destructors of what a context stored, and forgets it. */
void storage_clear(struct context *context);
void storage_reset(void);
