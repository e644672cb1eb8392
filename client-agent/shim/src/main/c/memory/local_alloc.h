// SPDX-License-Identifier: Apache-2.0
// Small allocations that the shim makes by itself: it cuts them from addresses for which the server has granted credit, so
// that nobody waits for an answer. The server executes them in their order, as it does all others.
#pragma once

#include "context/context.h"

/**
 * Allocates from credit; false if the server has to be asked for the allocation itself.
 *
 * @param result an error that came of asking for credit, or CUDA_SUCCESS
 */
bool local_allocate(struct context *context, uint64_t bytes, uint64_t *address, CUresult *result);
