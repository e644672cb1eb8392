// SPDX-License-Identifier: Apache-2.0
#include "context/memory_ranges.h"

#include "core/fork.h"

#include <stdatomic.h>

struct ranges deviceRanges, hostRanges;

static _Atomic uint64_t lastId;

static void memory_ranges_reset(void) { deviceRanges = hostRanges = (struct ranges){0}; }
ON_FORK(memory_ranges_reset);

uint64_t memory_next_id(void) { return atomic_fetch_add_explicit(&lastId, 1, memory_order_relaxed) + 1; }

static void memory_forget(struct context *context) { ranges_forget(&deviceRanges, context->id); }
ON_CONTEXT_END(memory, memory_forget);

CUresult memory_check(CUdeviceptr address, uint64_t bytes, bool *unknown) {
  struct range range;
  if (!bytes) return CUDA_SUCCESS;
  if (!ranges_find(&deviceRanges, address, &range)) {
    *unknown = true;
    return address ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  uint64_t there = range.base + range.bytes - address;
  // Blocks that are mapped one after the other are as one.
  while (there < bytes && range.kind == RANGE_VIRTUAL &&
         ranges_find(&deviceRanges, range.base + range.bytes, &range) &&
         range.kind == RANGE_VIRTUAL) {
    there += range.bytes;
  }
  return bytes <= there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

struct context *memory_context(CUdeviceptr address, struct context *otherwise) {
  struct range range;
  bool known = ranges_find(&deviceRanges, address, &range) && range.context;
  return known ? range.context : otherwise;
}
