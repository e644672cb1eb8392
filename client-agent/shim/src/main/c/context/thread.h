// SPDX-License-Identifier: Apache-2.0
// The state of one thread of the program: its stack of current contexts and its default streams.
#pragma once

#include "core/driver.h"
#include "core/hooks.h"

struct context;
struct stream;

/** A context as it was made current: `id` tells a slot's later use from it. */
struct current {
  struct context *context;
  uint64_t id;
  struct context *green;  // the green context that was made current, whose home `context` is; or NULL
  uint64_t greenId;
};

struct own_stream {
  uint64_t contextId;
  struct stream *stream;
  uint64_t streamId;
};

struct thread {
  struct current *stack;
  uint32_t depth, capacity;
  struct own_stream *streams;
  uint32_t streamCount;
  int captureMode;
};

extern __thread struct thread *ownThread __attribute__((tls_model("initial-exec")));

/** Creates the state of the calling thread; NULL without memory. */
struct thread *thread_create(void);

static inline struct thread *thread_self(void) {
  return LIKELY(ownThread != NULL) ? ownThread : thread_create();
}

typedef void thread_hook(struct thread *thread);

/** Adds a function that runs at the end of a thread, on that thread. */
#define ON_THREAD_END(function) HOOK(thread_end, thread_hook, function)
