// SPDX-License-Identifier: Apache-2.0
#include "memory/host_settle.h"

#include "context/context.h"
#include "context/memory_ranges.h"
#include "memory/mapped_memory.h"
#include "memory/shared_host.h"
#include "ops.h"
#include "shim.h"
#include "stream/capture_interface.h"
#include "transport/loan.h"
#include "transport/replies.h"

#include <sys/mman.h>
#include <unistd.h>

enum {
  PORTABLE = 1,
  DEVICE_MAP = 2,
  WRITE_COMBINED = 4,
  IO_MEMORY = 4,
  READ_ONLY = 8,
};

static uint64_t whole_pages(size_t bytes) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  return (bytes + page - 1) / page * page;
}

/** Returns NULL if there is no memory. */
static void *allocate(struct context *context, uint64_t bytes) {
  void *memory = shared_host_allocate(context, bytes);
  if (memory) return memory;
  memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  // All of it is to be there anyway; the kernel makes huge pages of the parts that are long enough.
  madvise(memory, bytes, MADV_HUGEPAGE);
  return memory;
}

CUresult shim_cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags) {
  struct context *context;
  if (!pp || !bytesize || Flags & ~(unsigned int)(PORTABLE | DEVICE_MAP | WRITE_COMBINED)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUresult result = context_current(&context);
  if (!result) result = capture_unsafe();
  if (result) return result;
  if (Flags & DEVICE_MAP) return mapped_allocate(context, bytesize, Flags, pp);
  void *memory = allocate(context, whole_pages(bytesize));
  if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
  struct range range = {.base = (uintptr_t)memory,
                        .bytes = bytesize,
                        .context = context,
                        .contextId = context->id,
                        .id = memory_next_id(),
                        .flags = Flags,
                        .kind = RANGE_PINNED};
  if (!ranges_add(&hostRanges, &range)) {
    shared_host_end(memory);
    munmap(memory, whole_pages(bytesize));
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *pp = memory;
  return CUDA_SUCCESS;
}

CUresult shim_cuMemFreeHost(void *p) {
  struct range range;
  uint64_t base = (uintptr_t)p;
  if (!p) return CUDA_SUCCESS;
  CUresult refused = capture_unsafe();
  if (refused) return refused;
  if (!ranges_find(&hostRanges, base, &range) || range.base != base || range.kind != RANGE_PINNED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUresult settled = host_settle(p, range.bytes);
  loans_return(p, range.bytes);
  if (!ranges_remove(&hostRanges, base, &range)) return CUDA_ERROR_INVALID_VALUE;
  shared_host_end(p);
  if (mapped_forget(&range)) return CUDA_SUCCESS;
  // Memory that may still be written to is left mapped.
  if (!settled) munmap(p, whole_pages(range.bytes));
  return CUDA_SUCCESS;
}

CUresult shim_cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags) {
  struct context *context;
  if (!p || !bytesize ||
      Flags & ~(unsigned int)(PORTABLE | DEVICE_MAP | IO_MEMORY | READ_ONLY)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (Flags & (IO_MEMORY | READ_ONLY)) return CUDA_ERROR_NOT_SUPPORTED;
  CUresult result = context_current(&context);
  if (result) return result;
  uint64_t base = (uintptr_t)p;
  if (ranges_overlap(&hostRanges, base, bytesize)) {
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  }
  struct range range = {.base = base,
                        .bytes = bytesize,
                        .context = context,
                        .contextId = context->id,
                        .id = memory_next_id(),
                        .flags = Flags,
                        .kind = RANGE_REGISTERED};
  return ranges_add(&hostRanges, &range) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult shim_cuMemHostUnregister(void *p) {
  struct range range;
  uint64_t base = (uintptr_t)p;
  if (!p) return CUDA_ERROR_INVALID_VALUE;
  if (!ranges_find(&hostRanges, base, &range) || range.base != base ||
      range.kind != RANGE_REGISTERED) {
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  }
  host_settle(p, range.bytes);
  loans_return(p, range.bytes);
  if (!ranges_remove(&hostRanges, base, &range)) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  mapped_forget(&range);
  return CUDA_SUCCESS;
}

CUresult shim_cuMemHostGetFlags(unsigned int *pFlags, void *p) {
  struct range range;
  if (!pFlags || !ranges_find(&hostRanges, (uintptr_t)p, &range)) return CUDA_ERROR_INVALID_VALUE;
  *pFlags = range.flags;
  return CUDA_SUCCESS;
}
