// SPDX-License-Identifier: Apache-2.0
// The state that all parts of the test driver share.
#include "driver.h"

#include <stdlib.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int initialized;
__thread struct context *current;
__thread int in_host_function;

static uint64_t calls;

uint64_t testcudaCalls(void) { return __atomic_load_n(&calls, __ATOMIC_RELAXED); }

void count_call(void) { __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED); }

int setting(const char *name, int fallback) {
  const char *value = getenv(name);
  return value ? atoi(value) : fallback;
}

Result usable(void) {
  if (in_host_function) return NOT_PERMITTED;
  if (!initialized) return NOT_INITIALIZED;
  if (!current) return INVALID_CONTEXT;
  return current->fault;
}
