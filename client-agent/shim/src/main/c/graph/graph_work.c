// SPDX-License-Identifier: Apache-2.0
#include "graph/graph_work.h"

#include "graph/graph_memory.h"
#include "module/function.h"
#include "module/library.h"

#include <stdlib.h>
#include <string.h>

struct work work_make(int type, struct context *context) {
  return (struct work){
      .type = type, .context = context, .contextId = context ? context->id : 0};
}

/** A copy of some bytes; NULL if there are none, or no memory. */
static void *duplicate(const void *bytes, size_t count) {
  void *copy = count ? malloc(count) : NULL;
  if (copy) memcpy(copy, bytes, count);
  return copy;
}

static size_t memory_bytes(const struct memory_work *memory) {
  return (size_t)memory->count * CUstreamBatchMemOpParams_BYTES;
}

bool work_memory(struct work *work, struct context *context, const void *operations,
                 unsigned int count) {
  *work = work_make(NODE_MEM_OPS, context);
  work->memory.count = count;
  work->memory.operations = duplicate(operations, memory_bytes(&work->memory));
  return work->memory.operations != NULL;
}

bool work_collective(struct work *work, struct communicator *communicator, const struct collective_call *calls,
                     uint32_t count) {
  *work = work_make(NODE_COLLECTIVE, communicator->context);
  work->collective = (struct collective_work){communicator, communicator->id, count, duplicate(calls, count * sizeof *calls)};
  return work->collective.calls != NULL;
}

static bool make_pointers(struct kernel_work *kernel) {
  size_t count = kernel->parameterCount;
  kernel->pointers = malloc((count + 1) * (sizeof *kernel->pointers + sizeof *kernel->offsets));
  if (kernel->pointers) kernel->offsets = (uint32_t *)(void *)(kernel->pointers + count + 1);
  return kernel->pointers != NULL;
}

void kernel_point(struct kernel_work *kernel) {
  for (uint32_t i = 0; i < kernel->parameterCount; i++) {
    kernel->pointers[i] = kernel->parameters + kernel->offsets[i];
  }
}

static void free_kernel(struct kernel_work *kernel) {
  free(kernel->attributes);
  free(kernel->parameters);
  free(kernel->pointers);
}

static bool copy_kernel(struct kernel_work *to, const struct kernel_work *from) {
  to->attributes = duplicate(from->attributes, from->attributeCount * sizeof *from->attributes);
  to->parameters = duplicate(from->parameters, from->parameterBytes);
  if (!make_pointers(to) || (from->attributeCount && !to->attributes) ||
      (from->parameterBytes && !to->parameters)) {
    free_kernel(to);
    return false;
  }
  for (uint32_t i = 0; i < to->parameterCount; i++) to->offsets[i] = from->offsets[i];
  kernel_point(to);
  return true;
}

bool work_copy_own(struct work *to, const struct work *from) {
  *to = *from;
  switch (from->type) {
    case NODE_KERNEL:
      return copy_kernel(&to->kernel, &from->kernel);
    case NODE_MEM_ALLOC:
      to->alloc.memory->references++;
      return true;
    case NODE_MEM_OPS:
      to->memory.operations = duplicate(from->memory.operations, memory_bytes(&from->memory));
      return to->memory.operations != NULL;
    case NODE_COLLECTIVE:
      to->collective.calls = duplicate(from->collective.calls, from->collective.count * sizeof *from->collective.calls);
      return to->collective.calls != NULL;
    default:
      return true;
  }
}

void work_clear_own(struct work *work) {
  if (work->type == NODE_KERNEL) {
    free_kernel(&work->kernel);
  } else if (work->type == NODE_MEM_ALLOC) {
    graph_memory_drop(work->alloc.memory);
  } else if (work->type == NODE_MEM_OPS) {
    free(work->memory.operations);
  } else if (work->type == NODE_COLLECTIVE) {
    free(work->collective.calls);
  }
  work->type = NODE_EMPTY;
}

static bool same_bytes(const void *one, const void *other, size_t bytes) {
  return !bytes || memcmp(one, other, bytes) == 0;
}

bool kernel_same_attributes(const struct kernel_work *one, const struct kernel_work *other) {
  return one->attributeCount == other->attributeCount &&
         same_bytes(one->attributes, other->attributes,
                    one->attributeCount * sizeof *one->attributes);
}

bool work_equal(const struct work *one, const struct work *other) {
  const struct kernel_work *kernel = &one->kernel, *otherKernel = &other->kernel;
  if (one->type != other->type || one->context != other->context) return false;
  switch (one->type) {
    case NODE_KERNEL:
      return kernel->function == otherKernel->function &&
             same_bytes(kernel->grid, otherKernel->grid, sizeof kernel->grid) &&
             same_bytes(kernel->block, otherKernel->block, sizeof kernel->block) &&
             kernel->sharedBytes == otherKernel->sharedBytes &&
             kernel->parameterBytes == otherKernel->parameterBytes &&
             same_bytes(kernel->parameters, otherKernel->parameters, kernel->parameterBytes);
    case NODE_MEMCPY:
      return same_bytes(&one->copy, &other->copy, sizeof one->copy);
    case NODE_MEMSET:
      return same_bytes(&one->fill, &other->fill, sizeof one->fill);
    case NODE_HOST:
      return same_bytes(&one->host, &other->host, sizeof one->host);
    case NODE_EVENT_RECORD:
    case NODE_EVENT_WAIT:
      return one->event == other->event;
    case NODE_MEM_OPS:
      return one->memory.count == other->memory.count &&
             same_bytes(one->memory.operations, other->memory.operations,
                        memory_bytes(&one->memory));
    case NODE_COLLECTIVE:
      return one->collective.communicator == other->collective.communicator &&
             one->collective.communicatorId == other->collective.communicatorId &&
             one->collective.count == other->collective.count &&
             same_bytes(one->collective.calls, other->collective.calls,
                        one->collective.count * sizeof *one->collective.calls);
    default:
      return true;
  }
}

void kernel_keep_attributes(struct kernel_work *after, struct kernel_work *before) {
  free(after->attributes);
  after->attributes = before->attributes;
  after->attributeCount = before->attributeCount;
  before->attributes = NULL;
  before->attributeCount = 0;
}

CUresult work_context(const struct work *work, struct context **context) {
  *context = work->context;
  if (!work->context) return CUDA_ERROR_INVALID_CONTEXT;
  if (!slot_is_live(&work->context->slot, &contexts) || work->context->id != work->contextId) {
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  }
  return work->context->sticky;
}

CUresult work_function(const struct work *work, struct function **function) {
  struct context *context;
  CUresult result = work_context(work, &context);
  if (result) return result;
  return function_find(work->kernel.function, &context, function);
}

/** The attributes of a launch, a cooperative one's being one of them. */
static bool copy_attributes(struct kernel_work *kernel, const struct launch *launch) {
  bool cooperative = launch->flags & LAUNCH_COOPERATIVE;
  kernel->attributeCount = launch->attributeCount + cooperative;
  if (!kernel->attributeCount) return true;
  kernel->attributes = calloc(kernel->attributeCount, sizeof *kernel->attributes);
  if (!kernel->attributes) return false;
  for (uint32_t i = 0; i < launch->attributeCount; i++) {
    kernel->attributes[i] = launch->attributes[i];
    kernel->attributes[i].padding = 0;
  }
  if (cooperative) {
    struct launch_attribute *last = &kernel->attributes[launch->attributeCount];
    last->id = LAUNCH_ATTRIBUTE_COOPERATIVE;
    last->value[0] = 1;
  }
  return true;
}

CUresult work_kernel(struct work *work, struct context *context, CUfunction handle,
                     const struct launch *launch, void **parameters, const void *packed,
                     size_t packedBytes) {
  struct function *function;
  CUresult result = function_find(handle, &context, &function);
  if (result) return result;
  result = launch_check(handle, function, launch);
  if (result) return result;
  const struct function_info *info = function->info;
  if (!packed && info->parameterCount && !parameters) return CUDA_ERROR_INVALID_VALUE;
  // A packed block may end early: the rest is zeros.
  if (packed && !packedBytes && info->parameterBytes) return CUDA_ERROR_INVALID_VALUE;
  uint32_t bytes = info->parameterBytes;
  if (packed && packedBytes > bytes) bytes = (uint32_t)packedBytes;
  *work = work_make(NODE_KERNEL, function->context);
  struct kernel_work *kernel = &work->kernel;
  *kernel = (struct kernel_work){
      .function = (CUfunction)(void *)function,
      .kernel = (CUkernel)(void *)kernel_behind(function),
      .sharedBytes = launch->sharedBytes,
      .parameterBytes = bytes,
      .parameterCount = info->parameterCount};
  memcpy(kernel->grid, launch->grid, sizeof kernel->grid);
  memcpy(kernel->block, launch->block, sizeof kernel->block);
  kernel->parameters = calloc(1, kernel->parameterBytes + 1);
  if (!make_pointers(kernel) || !kernel->parameters || !copy_attributes(kernel, launch)) {
    free_kernel(kernel);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (packed) {
    memcpy(kernel->parameters, packed, packedBytes);
  } else {
    launch_pack(info, kernel->parameters, parameters);
  }
  for (uint32_t i = 0; i < kernel->parameterCount; i++) {
    kernel->offsets[i] = info->parameters[i].offset;
  }
  kernel_point(kernel);
  return CUDA_SUCCESS;
}

struct work work_copy_linear(struct context *context, uint64_t destination, int destinationType,
                             uint64_t source, int sourceType, size_t bytes) {
  struct work work = work_make(NODE_MEMCPY, context);
  work.copy = (CUDA_MEMCPY3D){.srcMemoryType = sourceType,
                              .dstMemoryType = destinationType,
                              .srcPitch = bytes,
                              .srcHeight = 1,
                              .dstPitch = bytes,
                              .dstHeight = 1,
                              .WidthInBytes = bytes,
                              .Height = 1,
                              .Depth = 1};
  if (sourceType == CU_MEMORYTYPE_HOST) {
    work.copy.srcHost = (const void *)(uintptr_t)source;
  } else {
    work.copy.srcDevice = source;
  }
  if (destinationType == CU_MEMORYTYPE_HOST) {
    work.copy.dstHost = (void *)(uintptr_t)destination;
  } else {
    work.copy.dstDevice = destination;
  }
  return work;
}

CUresult work_given_context(CUcontext given, struct context **context) {
  if (!given) return context_or_none(context);
  *context = arena_find(&contexts, given);
  return *context ? (*context)->sticky : CUDA_ERROR_INVALID_CONTEXT;
}
