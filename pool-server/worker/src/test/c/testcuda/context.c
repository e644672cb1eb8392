// SPDX-License-Identifier: Apache-2.0
// Contexts.
#include "driver.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct context *primary[MAX_DEVICES];
int retained[MAX_DEVICES];

struct context *new_context(int device) {
  struct context *context = calloc(1, sizeof *context);
  context->device = device;
  context->home = context;
  context->legacy = new_stream(context, 1);
  return context;
}

Result cuDevicePrimaryCtxRetain(struct context **out, int device) {
  if (check_device(device)) return INVALID_DEVICE;
  pthread_mutex_lock(&lock);
  if (!primary[device]) primary[device] = new_context(device);
  retained[device]++;
  *out = primary[device];
  pthread_mutex_unlock(&lock);
  return SUCCESS;
}

Result cuDevicePrimaryCtxRelease_v2(int device) {
  if (check_device(device)) return INVALID_DEVICE;
  pthread_mutex_lock(&lock);
  Result result = retained[device] ? SUCCESS : INVALID_CONTEXT;
  if (!result && --retained[device] == 0) primary[device] = NULL;
  pthread_mutex_unlock(&lock);
  return result;
}

static int after_fault(const char *what) {
  const char *wanted = getenv("TESTCUDA_AFTER_FAULT");
  return wanted && !strcmp(wanted, what);
}

/* The context loses its streams, even those that never get on. */
Result cuDevicePrimaryCtxReset_v2(int device) {
  if (check_device(device)) return INVALID_DEVICE;
  while (primary[device] && primary[device]->fault && after_fault("hangs")) pause();
  pthread_mutex_lock(&lock);
  struct context *context = primary[device];
  if (context && context->fault && after_fault("stays")) {
    pthread_mutex_unlock(&lock);
    return context->fault;
  }
  if (context) {
    context->fault = 0;
    context->streams = NULL;
    context->legacy = new_stream(context, 1);
  }
  pthread_mutex_unlock(&lock);
  return SUCCESS;
}

Result cuCtxCreate_v2(struct context **out, unsigned flags, int device) {
  (void)flags;
  if (check_device(device)) return INVALID_DEVICE;
  *out = current = new_context(device);
  return SUCCESS;
}

Result cuCtxDestroy_v2(struct context *context) {
  while (context->fault && after_fault("hangs")) pause();
  if (current == context) current = NULL;
  return SUCCESS;
}

Result cuCtxSetCurrent(struct context *context) { current = context; return SUCCESS; }

Result cuCtxSynchronize(void) {
  Result result = usable();
  for (struct stream *s = current ? current->streams : NULL; s && !result; s = s->next)
    result = cuStreamSynchronize(s);
  return result ? result : cuStreamSynchronize(NULL);
}

Result cuCtxGetLimit(size_t *value, int limit) { *value = (size_t)limit * 1024; return usable(); }
Result cuCtxSetLimit(int limit, size_t value) { (void)limit; (void)value; return usable(); }
