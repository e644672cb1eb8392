// SPDX-License-Identifier: Apache-2.0
// Events, with the modelled time at which a stream came to them.
#include "driver.h"

#include <stdlib.h>

enum { DISABLE_TIMING = 2 };

struct event {
  struct context *context;
  unsigned flags;
  struct work *mark;
};

API CUresult cuEventCreate(struct event **out, unsigned flags) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result) {
    *out = calloc(1, sizeof **out);
    **out = (struct event){.context = context, .flags = flags};
  }
  return api_end(result);
}

API CUresult cuEventDestroy_v2(struct event *event) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (result == CUDA_ERROR_NOT_PERMITTED) return api_end(result);
  work_drop(event->mark);
  free(event);
  return api_end(CUDA_SUCCESS);
}

/** The lock is held. */
CUresult event_record(struct event *event, struct stream *stream) {
  if (event->context->home != stream->context->home) return CUDA_ERROR_INVALID_HANDLE;
  struct work *mark = stream_work(stream, WORK_MARK, 0);
  work_drop(event->mark);
  event->mark = work_keep(mark);
  stream_submit(stream, mark);
  return CUDA_SUCCESS;
}

void event_wait(struct event *event, struct stream *stream) {
  struct work *mark = stream_work(stream, WORK_MARK, 0);
  work_follow(mark, event->mark);
  stream_submit(stream, mark);
}

API CUresult cuEventRecord(struct event *event, struct stream *handle) {
  struct context *context;
  CUresult result = api_begin(&context);
  return api_end(result ? result : event_record(event, stream_of(context, handle)));
}

API CUresult cuEventRecordWithFlags(struct event *event, struct stream *handle, unsigned flags) {
  return flags > 1 ? CUDA_ERROR_INVALID_VALUE : cuEventRecord(event, handle);
}

API CUresult cuStreamWaitEvent(struct stream *handle, struct event *event, unsigned flags) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result && flags > 1) result = CUDA_ERROR_INVALID_VALUE;
  if (!result) event_wait(event, stream_of(context, handle));
  return api_end(result);
}

API CUresult cuEventQuery(struct event *event) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (result == CUDA_ERROR_NOT_PERMITTED) return api_end(result);
  bool over = !event->mark || work_is_done(event->mark);
  return api_end(over ? event->context->fault : CUDA_ERROR_NOT_READY);
}

API CUresult cuEventSynchronize(struct event *event) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (result == CUDA_ERROR_NOT_PERMITTED) return api_end(result);
  struct work *mark = work_keep(event->mark);
  if (mark) work_await(mark);
  work_drop(mark);
  return api_end(event->context->fault);
}

API CUresult cuEventElapsedTime(float *milliseconds, struct event *start, struct event *end) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (result == CUDA_ERROR_NOT_PERMITTED) return api_end(result);
  if (!start->mark || !end->mark || (start->flags | end->flags) & DISABLE_TIMING) {
    return api_end(CUDA_ERROR_INVALID_HANDLE);
  }
  if (!work_is_done(start->mark) || !work_is_done(end->mark)) return api_end(CUDA_ERROR_NOT_READY);
  *milliseconds = (float)((double)(int64_t)(work_time(end->mark) - work_time(start->mark)) / 1e6);
  return api_end(start->context->fault);
}

API CUresult cuEventElapsedTime_v2(float *milliseconds, struct event *start, struct event *end) {
  return cuEventElapsedTime(milliseconds, start, end);
}
