// SPDX-License-Identifier: Apache-2.0
#include "context/context.h"

#include "transport/connection.h"
#include "transport/device_table.h"

#include <stdatomic.h>
#include <stdlib.h>

ARENA(contexts, context, CONNECTION_CONTEXTS - FIRST_NUMBER, 0x43545831);

static _Atomic uint64_t lastId;

HOOK_TABLE(before_context_end, context_hook);
HOOK_TABLE(context_end_streams, context_hook);
HOOK_TABLE(context_end_libraries, context_hook);
HOOK_TABLE(context_end_modules, context_hook);
HOOK_TABLE(context_end_mirrors, context_hook);
HOOK_TABLE(context_end_mappings, context_hook);
HOOK_TABLE(context_end_memory, context_hook);

struct context *context_make(CUdevice device, unsigned int flags, unsigned int apiVersion) {
  struct context *context = arena_take(&contexts);
  if (!context) return NULL;
  context->number = (uint16_t)(connection_no_context(device_connection(device)) | context->slot.number);
  context->device = device;
  context->flags = flags;
  context->apiVersion = apiVersion;
  context->id = atomic_fetch_add_explicit(&lastId, 1, memory_order_relaxed) + 1;
  context->home = context;
  return context;
}

/** Has every unit forget what it has of a context. */
static void forget_all(struct context *context) {
  FOR_EACH_HOOK(context_end_streams, context_hook, hook) (*hook)(context);
  FOR_EACH_HOOK(context_end_libraries, context_hook, hook) (*hook)(context);
  FOR_EACH_HOOK(context_end_modules, context_hook, hook) (*hook)(context);
  FOR_EACH_HOOK(context_end_mirrors, context_hook, hook) (*hook)(context);
  FOR_EACH_HOOK(context_end_mappings, context_hook, hook) (*hook)(context);
  FOR_EACH_HOOK(context_end_memory, context_hook, hook) (*hook)(context);
}

struct context *context_make_green(struct context *home) {
  struct context *green = context_make(home->device, home->flags, home->apiVersion);
  if (!green) return NULL;
  green->home = home;
  // Neither's default stream waits for streams of the other.
  green->nonBlocking = 1;
  atomic_fetch_add_explicit(&home->nonBlocking, 1, memory_order_relaxed);
  return green;
}

void context_end_green(struct context *green) {
  struct thread *thread = ownThread;
  struct current *top = thread && thread->depth ? &thread->stack[thread->depth - 1] : NULL;
  if (top && top->green == green) thread->depth--;
  forget_all(green);
  atomic_fetch_sub_explicit(&green->home->nonBlocking, 1, memory_order_relaxed);
  arena_give(&contexts, green);
}

/** The green contexts of a primary context go with it. */
static void end_green_contexts(const struct context *home) {
  for (uint32_t i = 0; i < arena_used(&contexts); i++) {
    struct context *green = arena_at(&contexts, i);
    if (green && green->home == home && green != home) context_end_green(green);
  }
}

void context_before_end(struct context *context) {
  FOR_EACH_HOOK(before_context_end, context_hook, hook) (*hook)(context);
}

void context_end(struct context *context) {
  end_green_contexts(context);
  forget_all(context);
  if (!context->primary) {
    arena_give(&contexts, context);
    return;
  }
  context->limitsKnown = 0;
  context->limitsAbsent = 0;
  // A primary context's handle is good again, wherever it is current, when it is retained again.
  atomic_store_explicit(&context->slot.live, 0, memory_order_release);
  context->sticky = CUDA_SUCCESS;
  context->nonBlocking = 0;
}

CUresult context_note(struct context *context, CUresult result) {
  bool fatal = result == CUDA_ERROR_ILLEGAL_ADDRESS || result == CUDA_ERROR_LAUNCH_TIMEOUT ||
               result == CUDA_ERROR_ASSERT ||
               (result >= CUDA_ERROR_HARDWARE_STACK_ERROR && result <= CUDA_ERROR_LAUNCH_FAILED);
  if (fatal && context) context->sticky = context->home->sticky = result;
  return result;
}

CUresult context_or_none(struct context **context) {
  CUresult result = context_current(context);
  return result == CUDA_ERROR_INVALID_CONTEXT ? CUDA_SUCCESS : result;
}

/** The current context, else any that lives, of a connection or of all. */
static struct context *any(uint32_t connection, bool all) {
  struct context *context;
  uint16_t none = connection_no_context(connection);
  if (context_current(&context) == CUDA_SUCCESS && (all || connection_same(context->number, none))) {
    return context;
  }
  for (uint32_t i = 0; i < arena_used(&contexts); i++) {
    context = arena_at(&contexts, i);
    bool lasting = context && context->home == context && !context->sticky;
    if (lasting && (all || connection_same(context->number, none))) return context;
  }
  return NULL;
}

struct context *context_any(void) { return any(0, true); }

/** Stand for no context of a connection, for calls that need none. */
static struct context nowhere[MAX_CONNECTIONS];

struct context *context_any_or_none(uint32_t connection) {
  struct context *context = any(connection, false);
  if (!context) {
    context = &nowhere[connection];
    context->number = connection_no_context(connection);
  }
  return context;
}

struct context *context_any_of(uint32_t connection) { return any(connection, false); }

struct current context_as_current(struct context *context) {
  struct context *home = context->home;
  if (home == context) return (struct current){.context = context, .id = context->id};
  return (struct current){.context = home, .id = home->id, .green = context, .greenId = context->id};
}

CUresult context_push(struct context *context) {
  struct thread *thread = thread_self();
  if (!thread) return CUDA_ERROR_OUT_OF_MEMORY;
  if (thread->depth == thread->capacity) {
    uint32_t capacity = thread->capacity ? 2 * thread->capacity : 8;
    struct current *stack = realloc(thread->stack, capacity * sizeof *stack);
    if (!stack) return CUDA_ERROR_OUT_OF_MEMORY;
    thread->stack = stack;
    thread->capacity = capacity;
  }
  thread->stack[thread->depth++] = context_as_current(context);
  return CUDA_SUCCESS;
}

CUresult context_given_or_current(CUcontext given, struct context **context) {
  if (!given) return context_current(context);
  *context = arena_find(&contexts, given);
  return *context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
