// SPDX-License-Identifier: Apache-2.0
// Streams: each work of a stream follows the one before it. Blocking streams and the legacy stream wait
// for each other.
#include "driver.h"

#include <stdlib.h>

enum { NON_BLOCKING = 1, LEGACY_HANDLE = 1, PER_THREAD_HANDLE = 2 };

__thread bool inHostFunction;

uint64_t nanos_of(uint64_t bytes, uint64_t bytesPerSecond) {
  return (uint64_t)((double)bytes * 1e9 / (double)bytesPerSecond);
}

struct stream *stream_of(struct context *context, struct stream *handle) {
  return (uintptr_t)handle <= PER_THREAD_HANDLE ? &context->legacy : handle;
}

struct work *stream_work(const struct stream *stream, enum work_kind kind, uint64_t nanos) {
  return work_new(&gpus[stream->context->device], kind, nanos);
}

/** A work follows what is in a stream, and what the stream waits for. */
static void follow(const struct stream *stream, struct work *work) {
  const struct context *context = stream->context;
  if (stream == &context->legacy) {
    for (struct stream *other = context->streams; other; other = other->next) {
      if (other->blocking) work_follow(work, other->last);
    }
  } else if (stream->blocking) {
    work_follow(work, context->legacy.last);
  }
  work_follow(work, stream->last);
}

void stream_submit(struct stream *stream, struct work *work) {
  bool takesPlace = work->kind != WORK_MARK;
  if (takesPlace) work->queue = &stream->queue;
  follow(stream, work);
  work_drop(stream->last);
  stream->last = work_keep(work);
  work_submit(work);
  work_drop(work);
}

struct work *stream_end(struct stream *stream) {
  if (stream != &stream->context->legacy) return work_keep(stream->last);
  // To ask is no work of the stream's, for which others would wait.
  struct work *mark = stream_work(stream, WORK_MARK, 0);
  follow(stream, mark);
  work_submit(mark);
  return mark;
}

struct work *context_tail(struct context *context) {
  struct work *mark = stream_work(&context->legacy, WORK_MARK, 0);
  work_follow(mark, context->legacy.last);
  for (struct stream *stream = context->streams; stream; stream = stream->next) work_follow(mark, stream->last);
  work_submit(mark);
  return mark;
}

API CUresult cuStreamCreateWithPriority(struct stream **out, unsigned flags, int priority) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result && flags & ~(unsigned)NON_BLOCKING) result = CUDA_ERROR_INVALID_VALUE;
  if (!result) {
    struct stream *stream = calloc(1, sizeof *stream);
    *stream = (struct stream){.context = context,
                              .next = context->streams,
                              .blocking = !(flags & NON_BLOCKING),
                              .priority = priority};
    context->streams = stream;
    *out = stream;
  }
  return api_end(result);
}

/** Forgets a stream, whose work goes on; so it is not freed. */
API CUresult cuStreamDestroy_v2(struct stream *stream) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (result == CUDA_ERROR_NOT_PERMITTED) return api_end(result);
  if ((uintptr_t)stream <= PER_THREAD_HANDLE) return api_end(CUDA_ERROR_INVALID_HANDLE);
  for (struct stream **at = &stream->context->streams; *at; at = &(*at)->next) {
    if (*at != stream) continue;
    *at = stream->next;
    break;
  }
  return api_end(CUDA_SUCCESS);
}

API CUresult cuStreamQuery(struct stream *handle) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result) {
    struct work *end = stream_end(stream_of(context, handle));
    result = !end || work_is_done(end) ? context->fault : CUDA_ERROR_NOT_READY;
    work_drop(end);
  }
  return api_end(result);
}

API CUresult cuStreamSynchronize(struct stream *handle) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result) {
    struct work *end = stream_end(stream_of(context, handle));
    if (end) work_await(end);
    work_drop(end);
    result = context->fault;
  }
  return api_end(result);
}

// Host functions

struct host_function {
  void (*function)(void *);
  void (*callback)(struct stream *, CUresult, void *);
  struct stream *handle;
  struct context *context;
  void *user;
};

static bool call(struct work *work) {
  struct host_function *host = work->data;
  CUresult fault = host->context->fault;
  inHostFunction = true;
  if (host->callback) {
    host->callback(host->handle, fault, host->user);
  } else if (!fault) {
    host->function(host->user);
  }
  inHostFunction = false;
  return true;
}

static CUresult submit_host(struct stream *handle, struct host_function host) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result) {
    struct stream *stream = stream_of(context, handle);
    struct work *work = stream_work(stream, WORK_HOST, 0);
    host.context = context;
    work->data = malloc(sizeof host);
    *(struct host_function *)work->data = host;
    work->action = call;
    stream_submit(stream, work);
  }
  return api_end(result);
}

API CUresult cuLaunchHostFunc(struct stream *handle, void (*function)(void *), void *user) {
  return submit_host(handle, (struct host_function){.function = function, .user = user});
}

API CUresult cuStreamAddCallback(struct stream *handle, void (*callback)(struct stream *, CUresult, void *),
                                 void *user, unsigned flags) {
  if (flags || !callback) return CUDA_ERROR_INVALID_VALUE;
  return submit_host(handle, (struct host_function){.callback = callback, .handle = handle, .user = user});
}

// Values in memory: CUstreamBatchMemOpParams

struct memory_operation {
  int kind;
  CUdeviceptr address;
  uint64_t value;
  unsigned flags;
  uint64_t rest[2];
};

enum { WAIT_32 = 1, WRITE_32 = 2, WAIT_64 = 4, WRITE_64 = 5, BARRIER = 6 };
enum { WAIT_GEQ = 0, WAIT_EQ = 1, WAIT_AND = 2, WAIT_NOR = 3 };

static bool compare(uint64_t value, uint64_t wanted, bool wide, uint64_t how) {
  if (!wide) {
    value = (uint32_t)value;
    wanted = (uint32_t)wanted;
  }
  switch (how & 3) {
    case WAIT_GEQ: return wide ? (int64_t)(value - wanted) >= 0 : (int32_t)(value - wanted) >= 0;
    case WAIT_EQ: return value == wanted;
    case WAIT_AND: return value & wanted;
    default: return (wide ? ~(value | wanted) : (uint32_t) ~(value | wanted)) != 0;
  }
}

static bool operate(struct work *work) {
  bool wide = work->c == WAIT_64 || work->c == WRITE_64;
  volatile uint32_t *narrowWord = (void *)(uintptr_t)work->a;
  volatile uint64_t *wideWord = (void *)(uintptr_t)work->a;
  if (work->c == WAIT_32 || work->c == WAIT_64) {
    return compare(wide ? *wideWord : *narrowWord, work->b, wide, work->d);
  }
  if (wide) *wideWord = work->b; else *narrowWord = (uint32_t)work->b;
  return true;
}

API CUresult cuStreamBatchMemOp_v2(struct stream *handle, unsigned count, struct memory_operation *operations,
                                   unsigned flags) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result && flags) result = CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count && !result; i++) {
    int kind = operations[i].kind;
    if (kind == BARRIER) continue;
    bool isWait = kind == WAIT_32 || kind == WAIT_64;
    if (!isWait && kind != WRITE_32 && kind != WRITE_64) return api_end(CUDA_ERROR_INVALID_VALUE);
    struct stream *stream = stream_of(context, handle);
    struct work *work = stream_work(stream, isWait ? WORK_POLL : WORK_MARK, 0);
    work->action = operate;
    work->a = operations[i].address;
    work->b = operations[i].value;
    work->c = (uint64_t)kind;
    work->d = operations[i].flags;
    stream_submit(stream, work);
  }
  return api_end(result);
}
