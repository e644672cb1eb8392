// SPDX-License-Identifier: Apache-2.0
#include "core/fork.h"

#include <pthread.h>

HOOK_TABLE(fork, fork_hook);

static void run_hooks(void) {
  FOR_EACH_HOOK(fork, fork_hook, hook) (*hook)();
}

static void watch(void) { pthread_atfork(NULL, NULL, run_hooks); }

void fork_watch(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch);
}
