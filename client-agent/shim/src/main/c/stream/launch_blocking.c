// SPDX-License-Identifier: Apache-2.0
#include "stream/launch_blocking.h"

#include "shim.h"
#include "transport/session.h"

#include <stdlib.h>
#include <string.h>

bool launchBlocking;

static void blocking_configure(void) {
  const char *value = getenv("CUDA_LAUNCH_BLOCKING");
  launchBlocking = value && strcmp(value, "1") == 0;
}
ON_ATTACH(blocking_configure);

CUresult blocking_wait(CUstream stream) { return shim_cuStreamSynchronize(stream); }
