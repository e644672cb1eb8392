// SPDX-License-Identifier: Apache-2.0
// Managed memory: device memory at an address that the program may touch too.
#pragma once

#include "context/context.h"
#include "core/ranges.h"

/** Frees what cuMemAllocManaged gave. */
CUresult managed_free(const struct range *range);

/** Makes a variable of a module managed memory, unless it is already. */
CUresult managed_variable(struct context *context, uint64_t address, uint64_t bytes);
