// SPDX-License-Identifier: Apache-2.0
// Memory operations in streams: waiting for a value and writing one. All of them travel as batches.
#pragma once

#include "core/driver.h"

/** CUstreamBatchMemOpType. */
enum memory_operation { WAIT_32 = 1, WRITE_32, FLUSH_REMOTE_WRITES, WAIT_64, WRITE_64, BARRIER };

/** Puts one memory operation into a stream. */
CUresult stream_memory_op(CUstream stream, enum memory_operation operation, CUdeviceptr address,
                          uint64_t value, unsigned int flags);

/** Whether a batch of memory operations is one that a stream takes. */
CUresult stream_memory_check(const CUstreamBatchMemOpParams *operations, unsigned int count,
                             unsigned int flags);
