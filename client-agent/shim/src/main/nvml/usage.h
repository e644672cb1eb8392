// SPDX-License-Identifier: Apache-2.0
// Processes as nvidia-smi asks for them, by name.
#pragma once

#include "lease.h"

struct named_process {
  nvmlProcessDetail_t detail;
  char name[4096];
};

/** Lists processes: `count` is the room in the list, and then the number of processes. */
nvmlReturn_t named_processes(nvmlDevice_t device, unsigned *count, struct named_process *to);
