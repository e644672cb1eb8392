// SPDX-License-Identifier: Apache-2.0
// Contexts: primary ones, created ones, and each thread's stack of current ones.
#pragma once

#include "context/thread.h"
#include "core/driver.h"
#include "core/handles.h"
#include "core/hooks.h"

enum {
  CACHED_LIMITS = 16,  // more than there are of CUlimit
  CONTEXT_FLAGS = 0xff,
  KEPT_STREAM_ATTRIBUTES = 4,
  FOUR_BYTE_BANKS = 1,  // CUsharedconfig
};

/** Hints that a program has set on a stream, about caches, waiting and memory domains: they are kept to be told. */
struct stream_attributes {
  struct CUstreamAttrValue kept[KEPT_STREAM_ATTRIBUTES];
};

struct context {
  struct slot slot;
  uint16_t number;  // on the call stream
  // The primary context whose memory, modules and events a green context has as its own; else itself
  struct context *home;
  bool primary;
  CUdevice device;
  unsigned int flags;
  CUresult sticky;       // the error that ended it, or CUDA_SUCCESS
  // The number of things that do not wait for its legacy default stream: non-blocking streams; of a home its green
  // contexts, of a green context its home
  _Atomic uint32_t nonBlocking;
  uint64_t id;           // never used again
  _Atomic uint32_t guestStream;   // of route.c; 0: none yet
  _Atomic uint32_t mirrorStream;  // of mirror.c; 0: none yet
  CUfunc_cache cacheConfig;
  CUsharedconfig sharedConfig;
  unsigned int apiVersion;
  _Atomic uint32_t limitsKnown;  // bit i: limits[i] is what the worker said
  _Atomic uint32_t limitsAbsent;  // bit i: there is no limit i
  uint64_t limits[CACHED_LIMITS];
  struct stream_attributes legacyAttributes;  // of the legacy default stream
};

extern struct arena contexts;

/** The calling thread's current context; an error if there is none or it is broken. */
static inline CUresult context_current(struct context **context) {
  struct thread *thread = ownThread;
  *context = NULL;
  if (UNLIKELY(!thread || !thread->depth)) return CUDA_ERROR_INVALID_CONTEXT;
  struct current *top = &thread->stack[thread->depth - 1];
  if (UNLIKELY(!slot_is_live(&top->context->slot, &contexts) || top->context->id != top->id)) {
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  }
  *context = top->context;
  return top->context->sticky;
}

/** The current context, or NULL if there is none. */
CUresult context_or_none(struct context **context);

/** Returns whether the green context that was made current has not ended since. */
static inline bool green_is_live(const struct current *current) {
  return slot_is_live(&current->green->slot, &contexts) && current->green->id == current->greenId;
}

/**
 * The context that default streams and new streams belong to where this one is current: the green context that was
 * made current, if one was.
 */
static inline struct context *context_or_green(struct context *context) {
  struct thread *thread = ownThread;
  struct current *top = thread && thread->depth ? &thread->stack[thread->depth - 1] : NULL;
  if (LIKELY(!top || !top->green || top->context != context)) return context;
  return green_is_live(top) ? top->green : context;
}

/** A context that is not published yet; NULL if there is no room. */
struct context *context_make(CUdevice device, unsigned int flags, unsigned int apiVersion);

/** Ends a context with all that belongs to it. context_before_end has been called. */
void context_end(struct context *context);

/** A context as it is made current: of a green one, its home, too. */
struct current context_as_current(struct context *context);

/** Makes a context the calling thread's current one, on top of those before. */
CUresult context_push(struct context *context);

/** The given context, or the current one for NULL. */
CUresult context_given_or_current(CUcontext given, struct context **context);

/** Does the same as context_given_or_current, but accepts a context that an error has ended. */
static inline CUresult context_asked(CUcontext given, struct context **context) {
  CUresult result = context_given_or_current(given, context);
  return *context ? CUDA_SUCCESS : result;
}

/** Creates a context, and makes it the calling thread's current one. */
CUresult context_create(CUcontext *pctx, unsigned int flags, CUdevice dev, unsigned int apiVersion);

/** A green context that is not known to the server yet; NULL if there is no room. */
struct context *context_make_green(struct context *home);

/** Ends a green context, with its streams. */
void context_end_green(struct context *green);

typedef void context_hook(struct context *context);

/**
 * Adds a function that forgets what belongs to a context that ends; the worker forgets it by itself. The stages, in
 * their order, are streams, libraries, modules, mirrors, mappings and memory.
 */
#define ON_CONTEXT_END(stage, function) HOOK(context_end_##stage, context_hook, function)

/** Adds a function that is called before a context ends, without a lock held: it may call the program back. */
#define BEFORE_CONTEXT_END(function) HOOK(before_context_end, context_hook, function)

/** Calls what BEFORE_CONTEXT_END has added. */
void context_before_end(struct context *context);

/** Records a call's result: some errors end the context. */
CUresult context_note(struct context *context, CUresult result);

static inline CUresult context_result(struct context *context, CUresult result) {
  return LIKELY(result < CUDA_ERROR_ILLEGAL_ADDRESS) ? result : context_note(context, result);
}

/** The current context, else any that lives; NULL if none does. */
struct context *context_any(void);

/** Does the same as context_any, for one connection. */
struct context *context_any_of(uint32_t connection);

/** Does the same as context_any_of; without a context, returns a stand-in, for calls that need none. */
struct context *context_any_or_none(uint32_t connection);
