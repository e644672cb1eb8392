// SPDX-License-Identifier: Apache-2.0
// The memory that is known: ranges on the devices, and page-locked ranges of the program.
#pragma once

#include "context/context.h"
#include "core/ranges.h"

extern struct ranges deviceRanges, hostRanges;

uint64_t memory_next_id(void);

/**
 * CUDA_ERROR_INVALID_VALUE if these bytes begin in device memory that ends before they do. *unknown is
 * set if the address is none the shim knows: it may still be good, that of a module's variable say.
 */
CUresult memory_check(CUdeviceptr address, uint64_t bytes, bool *unknown);

/** The context of an address of device memory, or otherwise if it is none that the shim knows. */
struct context *memory_context(CUdeviceptr address, struct context *otherwise);
