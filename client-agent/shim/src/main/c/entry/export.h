// SPDX-License-Identifier: Apache-2.0
// The frame that every exported entry point puts around its work: errno, log and trace.
#pragma once

#include "core/driver.h"
#include "core/log.h"
#include "core/trace.h"
#include "entries.h"
#include "transport/session.h"

#include <errno.h>

#define EXPORT __attribute__((visibility("default")))

struct scope {
  int savedErrno;
  uint64_t startNanos;  // 0: nobody watches
  uint64_t startTrips;
};

/** Logs and counts a call; entry is of enum entry_number. */
void watched_call(int entry, const struct scope *scope, CUresult result);

/** CUDA_ERROR_NOT_SUPPORTED, and a warning the first time. */
CUresult refused(int entry, const char *reason, _Atomic int *warned);

static inline struct scope scope_enter(void) {
  struct scope scope = {.savedErrno = errno};
  if (UNLIKELY(watching)) {
    scope.startNanos = now_nanos();
    scope.startTrips = roundTrips;
  }
  return scope;
}

static inline void scope_leave(struct scope *scope, int entry, CUresult result) {
  if (UNLIKELY(scope->startNanos)) watched_call(entry, scope, result);
  errno = scope->savedErrno;
}
