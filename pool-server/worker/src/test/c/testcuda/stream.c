// SPDX-License-Identifier: Apache-2.0
// Streams: threads that take operations from a queue.
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static int ready(const struct op *op) {
  for (int i = 0; i < op->dependency_count; i++)
    if (op->dependencies[i].stream->done < op->dependencies[i].sequence) return 0;
  return 1;
}

static void *run_stream(void *argument) {
  struct stream *stream = argument;
  pthread_mutex_lock(&lock);
  while (1) {
    while (!(stream->head && ready(stream->head)) && !(stream->dying && !stream->head))
      pthread_cond_wait(&changed, &lock);
    struct op *op = stream->head;
    if (!op) break;
    int skipped = stream->context->fault && !op->even_after_fault;
    pthread_mutex_unlock(&lock);
    if (!skipped) op->run(op);
    pthread_mutex_lock(&lock);
    stream->head = op->next;
    if (!stream->head) stream->tail = NULL;
    stream->done++;
    free(op);
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&lock);
  return NULL;
}

struct stream *new_stream(struct context *context, int blocking) {
  struct stream *stream = calloc(1, sizeof *stream);
  stream->context = context;
  stream->blocking = blocking;
  pthread_create(&stream->thread, NULL, run_stream, stream);
  pthread_detach(stream->thread);
  return stream;
}

struct stream *stream_of(struct stream *handle) {
  return (uintptr_t)handle <= 1 ? current->legacy : handle;
}

struct op *new_op(Action *run) {
  struct op *op = calloc(1, sizeof *op);
  op->run = run;
  return op;
}

static void depend(struct op *op, struct stream *stream, uint64_t sequence) {
  if (stream && stream->done < sequence && op->dependency_count < MAX_DEPENDENCIES)
    op->dependencies[op->dependency_count++] = (struct dependency){stream, sequence};
}

uint64_t submit_locked(struct stream *stream, struct op *op) {
  struct context *context = stream->context;
  if (stream == context->legacy) {
    for (struct stream *s = context->streams; s; s = s->next)
      if (s->blocking) depend(op, s, s->issued);
  } else if (stream->blocking) {
    depend(op, context->legacy, context->legacy->issued);
  }
  if (stream->tail) stream->tail->next = op; else stream->head = op;
  stream->tail = op;
  stream->issued++;
  pthread_cond_broadcast(&changed);
  return stream->issued;
}

Result submit(struct stream *handle, struct op *op) {
  pthread_mutex_lock(&lock);
  submit_locked(stream_of(handle), op);
  pthread_mutex_unlock(&lock);
  return SUCCESS;
}

int is_done(struct dependency point) {
  return !point.stream || point.stream->done >= point.sequence;
}

static void nothing(struct op *op) { (void)op; }

static struct dependency end_of(struct stream *stream) {
  /* The legacy stream follows all blocking streams: an empty operation gathers them. */
  if (stream == stream->context->legacy)
    return (struct dependency){stream, submit_locked(stream, new_op(nothing))};
  return (struct dependency){stream, stream->issued};
}

Result cuStreamCreateWithPriority(struct stream **out, unsigned flags, int priority) {
  Result result = usable();
  if (result) return result;
  struct stream *stream = new_stream(current, !(flags & 1));
  stream->priority = priority;
  pthread_mutex_lock(&lock);
  stream->next = current->streams;
  current->streams = stream;
  pthread_mutex_unlock(&lock);
  *out = stream;
  return SUCCESS;
}

Result cuStreamDestroy_v2(struct stream *stream) {
  pthread_mutex_lock(&lock);
  for (struct stream **s = &stream->context->streams; *s; s = &(*s)->next)
    if (*s == stream) { *s = stream->next; break; }
  stream->dying = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  return SUCCESS;
}

Result query(struct dependency point, struct context *context) {
  if (in_host_function) return NOT_PERMITTED;
  return !is_done(point) ? NOT_READY : context->fault;
}

Result cuStreamQuery(struct stream *handle) {
  Result result = usable();
  if (result) return result;
  pthread_mutex_lock(&lock);
  struct stream *stream = stream_of(handle);
  result = SUCCESS;
  if (stream->done < stream->issued) result = NOT_READY;
  if (stream == current->legacy)
    for (struct stream *s = current->streams; s; s = s->next)
      if (s->blocking && s->done < s->issued) result = NOT_READY;
  if (!result) result = current->fault;
  pthread_mutex_unlock(&lock);
  return result;
}

int printed, asserted;

Result await(struct dependency point, struct context *context) {
  if (in_host_function) return NOT_PERMITTED;
  pthread_mutex_lock(&lock);
  while (!is_done(point)) pthread_cond_wait(&changed, &lock);
  for (; printed > 0; printed--) printf("hello from the device\n");
  for (; asserted > 0; asserted--) fprintf(stderr, "kernel.cu:7: Assertion `false` failed.\n");
  pthread_mutex_unlock(&lock);
  return context->fault;
}

Result cuStreamSynchronize(struct stream *handle) {
  Result result = usable();
  if (result && !(current && current->fault == result)) return result;
  pthread_mutex_lock(&lock);
  struct dependency point = end_of(stream_of(handle));
  pthread_mutex_unlock(&lock);
  return await(point, current);
}

Result cuStreamWaitEvent(struct stream *handle, struct event *event, unsigned flags) {
  (void)flags;
  Result result = usable();
  if (result) return result;
  struct op *op = new_op(nothing);
  pthread_mutex_lock(&lock);
  depend(op, event->point.stream, event->point.sequence);
  submit_locked(stream_of(handle), op);
  pthread_mutex_unlock(&lock);
  return SUCCESS;
}

static void call_host_function(struct op *op) {
  in_host_function = 1;
  if (op->a)
    ((void (*)(struct stream *, Result, void *))op->f)((void *)op->b, (Result)((struct stream *)op->c)->context->fault, op->user);
  else
    ((void (*)(void *))op->f)(op->user);
  in_host_function = 0;
}

Result cuLaunchHostFunc(struct stream *handle, void *function, void *user) {
  Result result = usable();
  if (result) return result;
  struct op *op = new_op(call_host_function);
  op->f = function;
  op->user = user;
  return submit(handle, op);
}

Result cuStreamAddCallback(struct stream *handle, void *function, void *user, unsigned flags) {
  (void)flags;
  Result result = usable();
  if (result) return result;
  struct op *op = new_op(call_host_function);
  op->f = function;
  op->user = user;
  op->a = 1;
  op->b = (uintptr_t)handle;
  op->c = (uintptr_t)stream_of(handle);
  op->even_after_fault = 1;
  return submit(handle, op);
}
