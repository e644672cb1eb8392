// SPDX-License-Identifier: Apache-2.0
// Managed memory: device memory at an address that the program may touch too.
#pragma once

#include "context/context.h"
#include "core/ranges.h"

/** Frees what cuMemAllocManaged gave. */
CUresult managed_free(const struct range *range);

/** Makes a variable of a module managed memory, unless it is already. */
CUresult managed_variable(struct context *context, uint64_t address, uint64_t bytes);

/** A device, or the host where the old form of calls says so. */
struct location location_of_device(CUdevice device);

/** Moves memory to a place before work in a stream needs it there. */
CUresult managed_prefetch(CUdeviceptr address, size_t bytes, struct location location, CUstream handle);

/** Keeps a program's advice on memory. */
CUresult managed_advise(CUdeviceptr address, size_t bytes, CUmem_advise advice, struct location location);
