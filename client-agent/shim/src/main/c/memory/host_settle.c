// SPDX-License-Identifier: Apache-2.0
#include "memory/host_settle.h"

#include "context/context.h"
#include "memory/shared_host.h"
#include "ops.h"
#include "transport/calls.h"

bool host_pending(const void *begin, uint64_t bytes) {
  return copies_pending(begin, bytes) || shared_host_busy(begin, bytes);
}

CUresult host_settle(const void *begin, uint64_t bytes) {
  bool shared = shared_host_settles(begin, bytes);
  for (uint32_t i = 0; i < arena_used(&contexts) && (shared || copies_pending(begin, bytes)); i++) {
    struct context *context = arena_at(&contexts, i);
    if (context && !context->sticky) context_result(context, op_ctxSynchronize(context->number));
  }
  return copies_pending(begin, bytes) ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}
