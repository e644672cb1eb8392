// SPDX-License-Identifier: Apache-2.0
// Processes as nvidia-smi asks for them, by name.
#pragma once

#include "lease.h"

struct named_process {
  nvmlProcessDetail_t detail;
  char name[4096];
};

/** As NVML's lists: `count` is how many there is room for, then how many there are. */
nvmlReturn_t named_processes(nvmlDevice_t device, unsigned *count, struct named_process *to);
