// SPDX-License-Identifier: Apache-2.0
#include "stream/stream.h"

#include "context/context.h"
#include "context/thread.h"
#include "core/fork.h"
#include "ops.h"
#include "shim.h"
#include "stream/capture_interface.h"
#include "stream/waited.h"
#include "stream/work_hooks.h"
#include "transport/device_table.h"
#include "transport/session.h"

#include <stdatomic.h>
#include <stdlib.h>

ARENA(streams, stream, 1 << 16, 0x53545231);

static _Atomic uint64_t lastId = 2;  // 1 and 2 stand for the special handles

CUresult stream_make(struct context *context, unsigned int flags, int priority,
                     struct stream **made) {
  struct stream *stream = arena_take(&streams);
  if (!stream) return CUDA_ERROR_OUT_OF_MEMORY;
  stream->flags = flags;
  stream->priority = priority;
  stream->context = context;
  stream->id = atomic_fetch_add_explicit(&lastId, 1, memory_order_relaxed) + 1;
  arena_publish(&streams, stream);
  if (flags & STREAM_NON_BLOCKING) atomic_fetch_add_explicit(&context->nonBlocking, 1, memory_order_relaxed);
  *made = stream;
  return op_streamCreate(context->number, stream->slot.number, flags, priority);
}

static struct lock making;  // so that one asker alone makes a stream of the shim's own

static void streams_reset(void) { making.word = 0; }

ON_FORK(streams_reset);

CUresult stream_internal(struct context *context, _Atomic uint32_t *kept, uint32_t *number) {
  CUresult result = CUDA_SUCCESS;
  *number = atomic_load_explicit(kept, memory_order_acquire);
  if (*number) return CUDA_SUCCESS;
  lock_take(&making);
  struct stream *stream = *kept ? NULL : arena_take(&streams);
  if (!stream && !*kept) result = CUDA_ERROR_OUT_OF_MEMORY;
  if (stream) {
    stream->flags = STREAM_NON_BLOCKING;
    stream->context = context;
    arena_publish(&streams, stream);
    result = op_streamCreate(context->number, stream->slot.number, STREAM_NON_BLOCKING, 0);
    if (!result) atomic_store_explicit(kept, stream->slot.number, memory_order_release);
  }
  *number = *kept;
  lock_release(&making);
  return result;
}

CUresult stream_discard(struct stream *stream) {
  capture_discard(stream, false);
  struct context *context = stream->context;
  uint32_t number = stream->slot.number;
  bool nonBlocking = stream->flags & STREAM_NON_BLOCKING;
  // Sent before the slot, and with it the number, can be used again.
  CUresult result = op_streamDestroy(context->number, number);
  if (!arena_give(&streams, stream)) return CUDA_ERROR_INVALID_HANDLE;
  if (nonBlocking) atomic_fetch_sub_explicit(&context->nonBlocking, 1, memory_order_relaxed);
  return result;
}

CUresult stream_wait(struct context *context, uint32_t number) {
  if (waited_already(context, number)) return CUDA_SUCCESS;
  uint64_t mark = submit_mark(), begun = waited_position(context);
  bool waits = wait_begins();
  CUresult result = context_result(context, op_streamSynchronize(context->number, number));
  wait_ends(waits);
  if (!result) waited_end(context, number, begun, SYNCHRONIZE_FRAME_BYTES);
  return result ? result : after_wait(context, number, mark);
}

static void streams_forget(struct context *context) {
  for (uint32_t i = 0; i < arena_used(&streams); i++) {
    struct stream *stream = arena_at(&streams, i);
    if (!stream || stream->context != context) continue;
    capture_discard(stream, true);
    arena_give(&streams, stream);
  }
  context->guestStream = 0;
}
ON_CONTEXT_END(streams, streams_forget);

/** The calling thread's own default stream in a context. Not inlined: other streams are found with fewer registers. */
__attribute__((noinline)) static CUresult thread_stream(struct context *context, struct stream **stream) {
  struct thread *thread = thread_self();
  if (!thread) return CUDA_ERROR_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < thread->streamCount; i++) {
    struct own_stream *own = &thread->streams[i];
    struct stream *known = own->contextId == context->id ? arena_find(&streams, own->stream) : NULL;
    if (known && known->id == own->streamId) {
      *stream = known;
      return CUDA_SUCCESS;
    }
  }
  struct own_stream *list =
      realloc(thread->streams, sizeof *list * (thread->streamCount + 1));
  if (!list) return CUDA_ERROR_OUT_OF_MEMORY;
  thread->streams = list;
  CUresult result = stream_make(context, 0, 0, stream);
  if (result) return result;
  list[thread->streamCount++] = (struct own_stream){context->id, *stream, (*stream)->id};
  return CUDA_SUCCESS;
}

/** Ends the default streams of a thread that ends. */
static void discard_own_streams(struct thread *thread) {
  for (uint32_t i = 0; i < thread->streamCount && session_ready(); i++) {
    struct own_stream *own = &thread->streams[i];
    struct stream *stream = arena_find(&streams, own->stream);
    if (stream && stream->id == own->streamId) stream_discard(stream);
  }
}
ON_THREAD_END(discard_own_streams);

CUresult stream_find(CUstream handle, struct context **context, struct stream **stream) {
  *stream = NULL;
  if (handle == NULL || handle == CU_STREAM_LEGACY) {
    if (*context) *context = context_or_green(*context);
    return *context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
  }
  if (handle == CU_STREAM_PER_THREAD) {
    return *context ? thread_stream(context_or_green(*context), stream) : CUDA_ERROR_INVALID_CONTEXT;
  }
  *stream = arena_find(&streams, handle);
  if (UNLIKELY(!*stream)) return CUDA_ERROR_INVALID_HANDLE;
  // A stream of another connection takes its work with it there.
  if (!*context || !connection_same((*context)->number, (*stream)->context->number)) {
    *context = (*stream)->context;
  }
  return (*stream)->context->sticky;
}

CUresult stream_number(CUstream handle, struct context **context, uint32_t *number) {
  struct stream *stream;
  CUresult result = stream_find(handle, context, &stream);
  // Calls that can be captured have asked before.
  if (!result && captures_active()) result = capture_refuse_stream(*context, stream);
  if (!result) *number = stream ? stream->slot.number : NUMBER_LEGACY_STREAM;
  return result;
}

/** The current context, or none, and the stream of a handle. */
static CUresult begin(CUstream handle, struct context **context, struct stream **stream) {
  CUresult result = context_or_none(context);
  return result ? result : stream_find(handle, context, stream);
}

CUresult stream_of(CUstream handle, struct context **context, struct stream **stream) {
  return begin(handle, context, stream);
}

static int greatest_priority(const struct context *context) {
  bool priorities = device_attribute(context->device, ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED) > 0;
  return priorities ? STREAM_GREATEST_PRIORITY : 0;
}

int stream_priority(const struct context *context, int priority) {
  int greatest = greatest_priority(context);
  return priority > 0 ? 0 : priority < greatest ? greatest : priority;
}

CUresult shim_cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority) {
  struct context *context;
  struct stream *stream;
  if (!phStream || flags & ~(unsigned int)STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_current(&context);
  if (result) return result;
  context = context_or_green(context);
  result = stream_make(context, flags, stream_priority(context, priority), &stream);
  if (!result) *phStream = (CUstream)(void *)stream;
  return result;
}

CUresult shim_cuCtxSynchronize_v2(CUcontext ctx) {
  struct context *context;
  CUresult result = context_given_or_current(ctx, &context);
  if (!result) result = context->sticky;
  if (!result && captures_active()) result = capture_refuse_context(context);
  if (result) return result;
  uint64_t mark = submit_mark();
  bool waits = wait_begins();
  result = context_result(context, op_ctxSynchronize(context->number));
  wait_ends(waits);
  return result ? result : after_wait(context, 0, mark);
}

CUresult shim_cuStreamSynchronize(CUstream hStream) {
  struct context *context;
  uint32_t number;
  CUresult result = context_or_none(&context);
  if (!result) result = stream_number(hStream, &context, &number);
  return result ? result : stream_wait(context, number);
}

CUresult shim_cuStreamQuery(CUstream hStream) {
  struct context *context;
  uint32_t number;
  CUresult result = context_or_none(&context);
  if (!result) result = stream_number(hStream, &context, &number);
  if (result) return result;
  uint64_t mark = submit_mark();
  result = context_result(context, op_streamQuery(context->number, number));
  return result ? result : after_wait(context, number, mark);
}
