// SPDX-License-Identifier: Apache-2.0
#include "stream/settle.h"

#include "ops.h"

CUresult settle_others(const struct context *context) {
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < connectionCount && !result; i++) {
    bool pending = __atomic_load_n(&connections[i].calls.copies, __ATOMIC_RELAXED);
    if (pending && i != context->number >> CONNECTION_SHIFT) result = op_settle(connection_no_context(i));
  }
  return result;
}
