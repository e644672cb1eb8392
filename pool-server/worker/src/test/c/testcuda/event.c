// SPDX-License-Identifier: Apache-2.0
// Events.
#include "driver.h"

#include <stdlib.h>
#include <time.h>

Result cuEventCreate(struct event **out, unsigned flags) {
  (void)flags;
  Result result = usable();
  if (result) return result;
  *out = calloc(1, sizeof **out);
  (*out)->context = current;
  return SUCCESS;
}

/* Events stay: an operation under way may still write to one. */
Result cuEventDestroy_v2(struct event *event) { (void)event; return SUCCESS; }

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void stamp(struct op *op) { ((struct event *)op->f)->nanos = now(); }

Result cuEventRecord(struct event *event, struct stream *handle) {
  Result result = usable();
  if (result) return result;
  if (event->context->home != current->home) return INVALID_HANDLE;
  struct op *op = new_op(stamp);
  op->f = event;
  op->even_after_fault = 1;
  pthread_mutex_lock(&lock);
  struct stream *stream = stream_of(handle);
  event->point = (struct dependency){stream, submit_locked(stream, op)};
  pthread_mutex_unlock(&lock);
  return SUCCESS;
}

Result cuEventQuery(struct event *event) { return query(event->point, event->context); }

/* Prints nothing for an event that was reached before. */
Result cuEventSynchronize(struct event *event) {
  pthread_mutex_lock(&lock);
  int done = is_done(event->point);
  pthread_mutex_unlock(&lock);
  return done ? event->context->fault : await(event->point, event->context);
}

Result cuEventElapsedTime(float *milliseconds, struct event *start, struct event *end) {
  if (!start->point.stream || !end->point.stream) return INVALID_HANDLE;
  if (!is_done(start->point) || !is_done(end->point)) return NOT_READY;
  *milliseconds = (float)((double)(int64_t)(end->nanos - start->nanos) / 1e6);
  return start->context->fault;
}
