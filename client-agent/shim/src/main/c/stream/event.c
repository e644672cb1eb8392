// SPDX-License-Identifier: Apache-2.0
#include "stream/event.h"

#include "context/context.h"
#include "ops.h"
#include "shim.h"
#include "stream/capture_interface.h"
#include "stream/route.h"
#include "stream/stream.h"
#include "stream/work_hooks.h"
#include "transport/device_table.h"

#include <stdatomic.h>

ARENA(events, event, 1 << 20, 0x45565431);

enum { BLOCKING_SYNC = 1, DISABLE_TIMING = 2, INTERPROCESS = 4 };

CUresult event_find(CUevent handle, struct context **context, struct event **event) {
  *event = arena_find(&events, handle);
  if (!*event) return CUDA_ERROR_INVALID_HANDLE;
  if (!*context || !connection_same((*context)->number, (*event)->context->number)) {
    *context = (*event)->context;
  }
  return (*event)->context->sticky;
}

CUresult event_number(CUevent handle, struct context **context, uint32_t *number) {
  struct event *event;
  CUresult result = event_find(handle, context, &event);
  // Calls that allow a captured record find the event itself.
  if (!result && UNLIKELY(event->captureId)) result = capture_refuse_event(event);
  if (!result) *number = event->slot.number;
  return result;
}

static void events_forget(struct context *context) {
  for (uint32_t i = 0; i < arena_used(&events); i++) {
    struct event *event = arena_at(&events, i);
    if (!event || event->context != context) continue;
    capture_forget_event(event);
    arena_give(&events, event);
  }
}
ON_CONTEXT_END(streams, events_forget);

CUresult shim_cuEventCreate(CUevent *phEvent, unsigned int Flags) {
  struct context *context;
  if (!phEvent || Flags & ~(unsigned int)(BLOCKING_SYNC | DISABLE_TIMING | INTERPROCESS)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (Flags & INTERPROCESS && !(Flags & DISABLE_TIMING)) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_current(&context);
  if (result) return result;
  if (Flags & INTERPROCESS && device_attribute(context->device, ATTRIBUTE_IPC_EVENT_SUPPORTED) <= 0) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  struct event *event = arena_take(&events);
  if (!event) return CUDA_ERROR_OUT_OF_MEMORY;
  event->flags = Flags;
  event->context = context;
  arena_publish(&events, event);
  *phEvent = (CUevent)(void *)event;
  return op_eventCreate(context->number, event->slot.number, Flags);
}

struct event *event_make_internal(struct context *context) {
  struct event *event = arena_take(&events);
  if (!event) return NULL;
  event->flags = DISABLE_TIMING;
  event->context = context;
  arena_publish(&events, event);
  op_eventCreate(context->number, event->slot.number, DISABLE_TIMING);
  return event;
}

struct event *event_take_opened(struct context *context) {
  struct event *event = arena_take(&events);
  if (!event) return NULL;
  event->flags = DISABLE_TIMING | INTERPROCESS;
  event->context = context;
  arena_publish(&events, event);
  return event;
}

/** Returns whether the event is as complete as it was found to be, because nothing has recorded it since. */
static bool is_complete(struct event *event) {
  // Others may record it, or a program wait by it for memory that it sees change.
  if (event->flags & INTERPROCESS || atomic_load(&event->elsewhere)) return false;
  if (work_hooks_armed() || connections_several()) return false;
  return atomic_load(&event->completed) == atomic_load(&event->records) + 1;
}

/** The record must be there when another process hears of it, which has a call stream of its own. */
static CUresult await_record(struct context *context, struct event *event) {
  CUresult result =
      context_result(context, op_eventQuery(context->number, event->slot.number));
  return result == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : result;
}

CUresult shim_cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags) {
  struct context *context;
  struct event *event;
  struct stream *capturing = capture_stream(hStream);
  uint32_t stream;
  if (flags & ~1u) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_or_none(&context);
  struct context *owner = context;
  if (!result) result = event_find(hEvent, &owner, &event);
  if (result) return result;
  if (!context) context = owner;
  if (UNLIKELY(capturing != NULL)) return capture_record(capturing, hEvent, event, flags);
  // The flag has a meaning in captures only.
  if (flags) return CUDA_ERROR_INVALID_VALUE;
  result = stream_number(hStream, &context, &stream);
  if (result) return result;
  if (!connection_same(context->number, event->context->number)) return CUDA_ERROR_INVALID_HANDLE;
  capture_forget_event(event);
  atomic_fetch_add(&event->records, 1);
  result = op_eventRecord(context->number, event->slot.number, stream, flags);
  atomic_fetch_add(&event->records, 1);
  event->stream = stream;
  event->mark = submit_mark();
  return event->flags & INTERPROCESS && !result ? await_record(context, event) : result;
}

/** Asks whether an event is complete, or waits until it is. */
static CUresult ask(CUevent handle, CUresult (*op)(uint16_t context, uint32_t event)) {
  struct context *context;
  uint32_t number;
  CUresult result = context_or_none(&context);
  if (!result) result = event_number(handle, &context, &number);
  if (result) return result;
  struct event *event = arena_find(&events, handle);
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  if (is_complete(event)) return CUDA_SUCCESS;
  uint32_t records = atomic_load(&event->records);
  result = context_result(context, op(context->number, number));
  if (result) return result;
  // The stream has come to where the event was recorded.
  if (event->stream) result = after_wait(event->context, event->stream, event->mark);
  if (!result) atomic_store(&event->completed, records + 1);
  return result;
}

CUresult shim_cuEventQuery(CUevent hEvent) { return ask(hEvent, op_eventQuery); }

CUresult shim_cuEventSynchronize(CUevent hEvent) {
  bool waits = wait_begins();
  CUresult result = ask(hEvent, op_eventSynchronize);
  wait_ends(waits);
  return result;
}

CUresult shim_cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags) {
  struct context *context;
  struct event *event;
  struct stream *capturing = capture_stream(hStream);
  uint32_t stream;
  if (Flags & ~1u) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_or_none(&context);
  struct context *owner = context;
  if (!result) result = event_find(hEvent, &owner, &event);
  if (result) return result;
  if (!context) context = owner;
  if (UNLIKELY(capturing || event->captureId)) {
    struct stream *joining;
    result = stream_find(hStream, &context, &joining);
    return result ? result : capture_wait(joining, hEvent, event, Flags);
  }
  if (Flags) return CUDA_ERROR_INVALID_VALUE;
  result = stream_number(hStream, &context, &stream);
  if (result) return result;
  if (!connection_same(context->number, event->context->number)) {
    return event->stream ? route_after_event(context, stream, event->context, event->slot.number)
                         : CUDA_SUCCESS;
  }
  return op_streamWaitEvent(context->number, stream, event->slot.number, Flags);
}

// Of all streams of a context

static CUresult whole_context(CUcontext handle, CUevent hEvent, struct context **context,
                              struct event **event) {
  *context = arena_find(&contexts, handle);
  *event = arena_find(&events, hEvent);
  if (!*context) return CUDA_ERROR_INVALID_CONTEXT;
  if (!*event) return CUDA_ERROR_INVALID_HANDLE;
  if ((*context)->sticky) return (*context)->sticky;
  return UNLIKELY((*event)->captureId) ? capture_refuse_event(*event) : CUDA_SUCCESS;
}

CUresult shim_cuCtxRecordEvent(CUcontext hCtx, CUevent hEvent) {
  struct context *context;
  struct event *event;
  CUresult result = whole_context(hCtx, hEvent, &context, &event);
  if (result) return result;
  if (!connection_same(context->number, event->context->number)) return CUDA_ERROR_INVALID_HANDLE;
  atomic_fetch_add(&event->records, 1);
  result = op_ctxRecordEvent(context->number, event->slot.number);
  atomic_fetch_add(&event->records, 1);
  return result;
}

CUresult shim_cuCtxWaitEvent(CUcontext hCtx, CUevent hEvent) {
  struct context *context;
  struct event *event;
  CUresult result = whole_context(hCtx, hEvent, &context, &event);
  if (result) return result;
  if (connection_same(context->number, event->context->number)) {
    return op_ctxWaitEvent(context->number, event->slot.number);
  }
  // The wait goes through an event on the context's own connection.
  uint32_t guest;
  result = route_guest(context, &guest);
  if (!result) {
    result = route_after_event(context, guest, event->context, event->slot.number);
  }
  struct event *own = result ? NULL : event_make_internal(context);
  if (!own) return result ? result : CUDA_ERROR_OUT_OF_MEMORY;
  op_eventRecord(context->number, own->slot.number, guest, 0);
  result = op_ctxWaitEvent(context->number, own->slot.number);
  op_eventDestroy(context->number, own->slot.number);
  arena_give(&events, own);
  return result;
}
