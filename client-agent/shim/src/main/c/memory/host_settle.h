// SPDX-License-Identifier: Apache-2.0
// Copies that are under way into page-locked memory of the program, or out of it.
#pragma once

#include "core/driver.h"

/** Returns whether something may be on its way into this memory, or out of memory that is shared with the worker. */
bool host_pending(const void *begin, uint64_t bytes);

/** Waits until nothing is on its way into this memory. */
CUresult host_settle(const void *begin, uint64_t bytes);
