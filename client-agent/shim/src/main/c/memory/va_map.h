// SPDX-License-Identifier: Apache-2.0
// Device memory whose addresses are also the program's own, in pages of the operating system.
#pragma once

#include "context/context.h"

/**
 * Allocates device memory at an address where the program has room, and maps pages there.
 * CUDA_ERROR_OUT_OF_MEMORY if there is none of either.
 */
CUresult twin_allocate(struct context *context, uint64_t bytes, uint64_t *address);

/** Gives both back. */
CUresult twin_free(uint64_t address);

/** Maps the pages around device memory that there is already, for good; false if they are taken. */
bool twin_map(uint64_t address, uint64_t bytes);

/** A context is gone, and its device memory with it: the pages go if `unmap` says so. */
void twins_forget(uint64_t contextId, bool (*unmap)(uint64_t address));

void twins_reset(void);
