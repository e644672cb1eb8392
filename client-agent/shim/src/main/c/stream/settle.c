// SPDX-License-Identifier: Apache-2.0
#include "stream/settle.h"

#include "ops.h"

#include <stdatomic.h>

CUresult settle_others(const struct context *context) {
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < connectionCount && !result; i++) {
    bool pending = atomic_load_explicit(&connections[i].calls.copies, memory_order_relaxed);
    if (pending && i != context->number >> CONNECTION_SHIFT) result = op_settle(connection_no_context(i));
  }
  return result;
}
