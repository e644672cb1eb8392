// SPDX-License-Identifier: Apache-2.0
#include "module/nccl_kernels.h"

#include "core/log.h"
#include "transport/device_table.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/** Up to NCCL 2.18, and from 2.19 on; as C++ mangles them. */
static const char *const signs[] = {"ncclKernel_", "ncclDevKernel_"};

static bool is_wanted(void) {
  const char *setting = getenv("GPUPOOL_NCCL");
  return setting && strcmp(setting, "off") == 0;
}

void nccl_kernel_asked(const char *name) {
  static atomic_flag warned = ATOMIC_FLAG_INIT;
  bool found = false;
  for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) found |= strstr(name, signs[i]) != NULL;
  if (!found || is_wanted() || !devices_have_collectives() || atomic_flag_test_and_set(&warned)) return;
  log_line(LOG_WARN,
           "the program runs kernels of an NCCL of its own, linked statically or loaded without gpupool's libnccl.so.2 "
           "in LD_PRELOAD: it finds no GPUs of other servers or leases, and computes nothing on software GPUs; link "
           "libnccl.so.2 dynamically and start the program by gpupool run, or set GPUPOOL_NCCL=off if this is wanted");
}
