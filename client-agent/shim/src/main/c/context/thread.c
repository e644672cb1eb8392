// SPDX-License-Identifier: Apache-2.0
#include "context/thread.h"

#include "context/context.h"
#include "transport/session.h"
#include "stream/stream.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

__thread struct thread *ownThread __attribute__((tls_model("initial-exec")));

static pthread_key_t ending;
static bool watched;

/** At the end of a thread: its default streams go. */
static void thread_end(void *memory) {
  struct thread *thread = memory;
  ownThread = NULL;
  for (uint32_t i = 0; i < thread->streamCount && session_ready(); i++) {
    struct own_stream *own = &thread->streams[i];
    struct stream *stream = arena_find(&streams, own->stream);
    if (stream && stream->id == own->streamId) stream_discard(stream);
  }
  free(thread->streams);
  free(thread->stack);
  free(thread);
}

static void watch(void) { watched = pthread_key_create(&ending, thread_end) == 0; }

struct thread *thread_create(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch);
  struct thread *thread = calloc(1, sizeof *thread);
  if (!thread) return NULL;
  if (watched) pthread_setspecific(ending, thread);
  ownThread = thread;
  return thread;
}

CUresult thread_stream(struct context *context, struct stream **stream) {
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

void thread_reset(void) {
  // What the parent's thread had is left alone: freeing it here might meet a lock of malloc.
  ownThread = NULL;
  if (watched) pthread_setspecific(ending, NULL);
}
