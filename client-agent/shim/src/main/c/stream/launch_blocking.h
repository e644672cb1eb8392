// SPDX-License-Identifier: Apache-2.0
// CUDA_LAUNCH_BLOCKING: launches return when they are done, with their own errors.
#pragma once

#include "core/driver.h"

#include <stdbool.h>

extern bool launchBlocking;

/** Waits for all that is in a stream. */
CUresult blocking_wait(CUstream stream);

/** The result of a launch that answered this when it was posted. */
static inline CUresult blocking_after(CUresult result, CUstream stream) {
  return __builtin_expect(launchBlocking, 0) && !result ? blocking_wait(stream) : result;
}
