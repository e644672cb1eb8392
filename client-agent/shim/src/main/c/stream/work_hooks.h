// SPDX-License-Identifier: Apache-2.0
// Hooks around work on devices, for the units above that keep copies of device memory in the host's: before work
// is sent, what the host changed goes to the device; when a wait has ended, what the device changed comes to the host.
// A program without such memory pays one load and one branch for it.
#pragma once

#include "core/hooks.h"
#include "stream/settle.h"

#include <stdatomic.h>

typedef CUresult submit_hook(struct context *context, uint32_t stream);
typedef CUresult wait_hook(struct context *context, uint32_t stream, uint64_t mark);
typedef void waiting_hook(void);

/** Adds a function that runs before work is sent to a stream, while submit hooks are armed. */
#define BEFORE_SUBMIT(function) HOOK(before_submit, submit_hook, function)

/** Adds a function that runs after a wait for a stream, while submit hooks are armed. */
#define AFTER_WAIT(function) HOOK(after_wait, wait_hook, function)

/** Adds functions that run before and after a thread waits for a device, while waiting hooks are armed. */
#define WAIT_BEGINS(function) HOOK(wait_begins, waiting_hook, function)
#define WAIT_ENDS(function) HOOK(wait_ends, waiting_hook, function)

/** The number of things that need the hooks; the units that add hooks count them. */
extern _Atomic uint32_t submitHooksArmed, waitingHooksArmed;

/** Counts submissions while hooks are armed: a mark tells what came before a wait from what came after. */
extern _Atomic uint64_t submitClock;

CUresult work_hooks_before_submit(struct context *context, uint32_t stream);
CUresult work_hooks_after_wait(struct context *context, uint32_t stream, uint64_t mark);
void work_hooks_wait_begins(void);
void work_hooks_wait_ends(void);

static inline bool work_hooks_armed(void) {
  return UNLIKELY(atomic_load_explicit(&submitHooksArmed, memory_order_relaxed));
}

/** Called before work that may touch device memory is sent to a stream; 0: no work is, just contents are. */
static inline CUresult before_submit(struct context *context, uint32_t stream) {
  return work_hooks_armed() ? work_hooks_before_submit(context, stream) : CUDA_SUCCESS;
}

/** Taken before a wait is sent, for after_wait. */
static inline uint64_t submit_mark(void) {
  return work_hooks_armed() ? atomic_load(&submitClock) : 0;
}

/** Called when a wait for a stream has ended; 0: for all of the context. */
static inline CUresult after_wait(struct context *context, uint32_t stream, uint64_t mark) {
  if (connections_several()) {
    CUresult result = settle_others(context);
    if (result) return result;
  }
  return work_hooks_armed() ? work_hooks_after_wait(context, stream, mark) : CUDA_SUCCESS;
}

/** Called before a wait is sent; what it answers is for wait_ends. */
static inline bool wait_begins(void) {
  if (LIKELY(!atomic_load_explicit(&waitingHooksArmed, memory_order_relaxed))) return false;
  work_hooks_wait_begins();
  return true;
}

static inline void wait_ends(bool begun) {
  if (UNLIKELY(begun)) work_hooks_wait_ends();
}
