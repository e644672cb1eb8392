// SPDX-License-Identifier: Apache-2.0
// Memory pools: each device's default one. Its number on the call stream is 1 + the device's ordinal.
#pragma once

#include "handles.h"

struct pool {
  struct slot slot;
  CUdevice device;
  uint32_t number;
};

/** In a forked child. */
void pools_reset(void);
