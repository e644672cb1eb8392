// SPDX-License-Identifier: Apache-2.0
// Page-locked host memory: to the program it is; to the wire it is memory that stays put.
#pragma once

#include "core/driver.h"

/** Waits until nothing is on its way into this memory. */
CUresult host_settle(const void *begin, uint64_t bytes);
