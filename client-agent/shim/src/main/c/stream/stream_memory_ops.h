// SPDX-License-Identifier: Apache-2.0
// Memory operations in streams: waiting for a value and writing one. All of them travel as batches.
#pragma once

#include "core/driver.h"

/** Puts one memory operation, of a CUstreamBatchMemOpType, into a stream. */
CUresult stream_memory_op(CUstream stream, int operation, CUdeviceptr address, uint64_t value,
                          unsigned int flags);

/** Returns whether a batch of memory operations is one that a stream takes. */
CUresult stream_memory_check(const CUstreamBatchMemOpParams *operations, unsigned int count,
                             unsigned int flags);
