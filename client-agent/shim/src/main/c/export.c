// SPDX-License-Identifier: Apache-2.0
#include "export.h"

#include "errors.h"

#include <string.h>

void trace_call(const char *symbol, const char *callClass, uint64_t startNanos, CUresult result) {
  uint64_t nanos = now_nanos() - startNanos;
  log_line(LOG_DEBUG, "%s %s %llu.%llu us -> %d %s", symbol, callClass,
           (unsigned long long)(nanos / 1000), (unsigned long long)(nanos % 1000 / 100), result,
           error_name(result));
}

CUresult refused(const char *symbol, const char *reason, int *warned) {
  if (!__atomic_exchange_n(warned, 1, __ATOMIC_RELAXED)) {
    bool later = strcmp(reason, "not yet") == 0;
    log_line(LOG_WARN, "%s is not supported%s%s (CUDA_ERROR_NOT_SUPPORTED)", symbol,
             later ? " yet" : ": ", later ? "" : reason);
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}
