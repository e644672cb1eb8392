// SPDX-License-Identifier: Apache-2.0
// What every exported entry point does around its work.
#pragma once

#include "driver.h"
#include "log.h"
#include "session.h"

#include <errno.h>

#define EXPORT __attribute__((visibility("default")))

struct scope {
  int savedErrno;
  uint64_t startNanos;
};

/** One line of the trace. */
void trace_call(const char *symbol, const char *callClass, uint64_t startNanos, CUresult result);

/** CUDA_ERROR_NOT_SUPPORTED, and a warning the first time. */
CUresult refused(const char *symbol, const char *reason, int *warned);

static inline struct scope scope_enter(void) {
  struct scope scope = {errno, 0};
  if (UNLIKELY(logLevel >= LOG_DEBUG)) scope.startNanos = now_nanos();
  return scope;
}

static inline void scope_leave(struct scope *scope, const char *symbol, const char *callClass,
                               CUresult result) {
  if (UNLIKELY(scope->startNanos)) trace_call(symbol, callClass, scope->startNanos, result);
  errno = scope->savedErrno;
}
