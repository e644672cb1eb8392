// SPDX-License-Identifier: Apache-2.0
#include "context/thread.h"

#include "core/fork.h"

#include <pthread.h>
#include <stdlib.h>

__thread struct thread *ownThread __attribute__((tls_model("initial-exec")));

static pthread_key_t ending;
static bool watched;

HOOK_TABLE(thread_end, thread_hook);

static void thread_end(void *memory) {
  struct thread *thread = memory;
  ownThread = NULL;
  FOR_EACH_HOOK(thread_end, thread_hook, hook) (*hook)(thread);
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

static void thread_reset(void) {
  // The state of the parent's thread is left alone: freeing it here might meet a lock of malloc.
  ownThread = NULL;
  if (watched) pthread_setspecific(ending, NULL);
}

ON_FORK(thread_reset);
