// SPDX-License-Identifier: Apache-2.0
#include "collective/nccl_error.h"

#include "core/errors.h"
#include "core/log.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char latest[NCCL_TEXT_BYTES];

int nccl_fail(enum nccl_result result, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(latest, sizeof latest, format, arguments);
  va_end(arguments);
  log_line(LOG_INFO, "nccl: %s", latest);
  return (int)result;
}

int nccl_of(CUresult result, const char *what) {
  return result ? nccl_fail(NCCL_CUDA_ERROR, "%s: %s", what, error_name(result)) : NCCL_SUCCESS;
}

const char *nccl_text(void) { return latest; }
