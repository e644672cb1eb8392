// SPDX-License-Identifier: Apache-2.0
// Device memory whose addresses are also the program's own, in pages of the operating system.
#pragma once

#include "context/context.h"

/**
 * Allocates device memory at an address where the program has room, and maps pages there.
 * CUDA_ERROR_OUT_OF_MEMORY if there is none of either.
 */
CUresult va_map_allocate(struct context *context, uint64_t bytes, uint64_t *address);

/** Gives both back. */
CUresult va_map_free(uint64_t address);

/** Maps the pages around device memory that there is already, for good; false if they are taken. */
bool va_map_pages(uint64_t address, uint64_t bytes);

/** A context is gone, and its device memory with it: the pages go if `unmap` says so. */
void va_maps_forget(uint64_t contextId, bool (*unmap)(uint64_t address));
