// SPDX-License-Identifier: Apache-2.0
#include "entry/export.h"

#include "core/errors.h"

#include <stdatomic.h>
#include <string.h>

void watched_call(int entry, const struct scope *scope, CUresult result) {
  uint64_t nanos = now_nanos() - scope->startNanos;
  if (tracing()) trace_count(entry, nanos, roundTrips - scope->startTrips, result);
  log_line(LOG_DEBUG, "%s %s %llu.%llu us -> %d %s", entryTable[entry].symbol,
           classNames[entryTable[entry].callClass], (unsigned long long)(nanos / 1000),
           (unsigned long long)(nanos % 1000 / 100), result, error_name(result));
}

CUresult refused(int entry, const char *reason, _Atomic int *warned) {
  if (tracing()) trace_count(entry, 0, 0, CUDA_ERROR_NOT_SUPPORTED);
  if (!atomic_exchange_explicit(warned, 1, memory_order_relaxed)) {
    bool later = strcmp(reason, "not yet") == 0;
    log_line(LOG_WARN, "%s is not supported%s%s (CUDA_ERROR_NOT_SUPPORTED)",
             entryTable[entry].symbol, later ? " yet" : ": ", later ? "" : reason);
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}
