// SPDX-License-Identifier: Apache-2.0
// What is known of memory: ranges on the devices and page-locked ranges of the program.
#pragma once

#include "context/context.h"
#include "core/ranges.h"

extern struct ranges deviceRanges, hostRanges;

/** Takes note of device memory. */
void memory_note(struct context *context, uint64_t base, uint64_t bytes, enum range_kind kind);

uint64_t memory_next_id(void);

/** Device memory of a context is gone. */
void memory_forget(struct context *context);

/**
 * CUDA_ERROR_INVALID_VALUE if these bytes begin in device memory that ends before they do. *unknown is
 * set if the address is none the shim knows: it may still be good, that of a module's variable say.
 */
CUresult memory_check(CUdeviceptr address, uint64_t bytes, bool *unknown);

/** Ends one use of memory of another process that was opened as this kind. */
CUresult memory_close(CUdeviceptr address, enum range_kind kind);

void memory_reset(void);
