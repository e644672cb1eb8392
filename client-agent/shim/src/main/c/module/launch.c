// SPDX-License-Identifier: Apache-2.0
// Kernel launches. The frame is struct launch_request of the contract.
#include "module/launch.h"

#include "context/context.h"
#include "context/memory_ranges.h"
#include "core/log.h"
#include "memory/mapped_memory.h"
#include "module/function.h"
#include "module/function_attributes.h"
#include "module/library.h"
#include "ops.h"
#include "shim.h"
#include "stream/capture_interface.h"
#include "stream/launch_blocking.h"
#include "stream/stream.h"
#include "stream/work_hooks.h"
#include "transport/device_table.h"

#include <stdatomic.h>
#include <string.h>

enum {
  NO_LAUNCH_ATTRIBUTE = 15,  // of all up to the last
  LAST_LAUNCH_ATTRIBUTE = LAUNCH_ATTRIBUTE_NVLINK_SCHEDULING,
  MAX_DYNAMIC_SHARED_BYTES = 8,  // of CUfunction_attribute
  INVALID_CONFIGURATION = 9,     // of cudaError_t; CUresult has no name for it
};

// Of `extra`
#define PARAMETERS_END ((void *)0)
#define PARAMETERS_POINTER ((void *)1)
#define PARAMETERS_SIZE ((void *)2)

static bool fits(const struct context *context, const struct launch *launch) {
  const int32_t *limits = device_find(context->device)->attributes;
  uint64_t threads = 1;
  for (int i = 0; i < 3; i++) {
    if (!launch->grid[i] || launch->grid[i] > (uint32_t)limits[ATTRIBUTE_MAX_GRID_DIM_X + i] ||
        !launch->block[i] || launch->block[i] > (uint32_t)limits[ATTRIBUTE_MAX_BLOCK_DIM_X + i]) {
      return false;
    }
    threads *= launch->block[i];
  }
  return threads <= (uint32_t)limits[ATTRIBUTE_MAX_THREADS_PER_BLOCK];
}

/** Grid and block within the device's limits. */
static CUresult check_dimensions(CUfunction handle, const struct context *context,
                                 const struct launch *launch) {
  if (LIKELY(fits(context, launch))) return CUDA_SUCCESS;
  // libcudart launches kernels of libraries, and returns what it gets here as cudaLaunchKernel's error.
  return arena_find(&kernels, handle) ? INVALID_CONFIGURATION : CUDA_ERROR_INVALID_VALUE;
}

/** Shared memory beyond what every kernel may have: only as much as the function was allowed. */
static CUresult check_shared(const struct context *context, struct function *function,
                             const struct launch *launch) {
  const int32_t *limits = device_find(context->device)->attributes;
  uint32_t shared = (uint32_t)limits[ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK];
  if (LIKELY(launch->sharedBytes <= shared)) return CUDA_SUCCESS;
  int32_t allowed = 0;
  CUresult result = function_attribute(function, MAX_DYNAMIC_SHARED_BYTES, &allowed);
  if (result) return result;
  return launch->sharedBytes <= (uint32_t)allowed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult launch_check(CUfunction handle, struct function *function, const struct launch *launch) {
  CUresult result = check_dimensions(handle, function->context, launch);
  return result ? result : check_shared(function->context, function, launch);
}

/** Returns whether a grid is made of whole clusters of this dimension. */
static bool divides_grid(const struct launch_attribute *attribute, const struct launch *launch) {
  uint32_t blocks[3];
  memcpy(blocks, attribute->value, sizeof blocks);
  for (int i = 0; i < 3; i++) {
    if (!blocks[i] || launch->grid[i] % blocks[i]) return false;
  }
  return true;
}

CUresult launch_check_attributes(const struct launch *launch) {
  if (launch->attributeCount > MAX_LAUNCH_ATTRIBUTES ||
      (launch->attributeCount && !launch->attributes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (unsigned int i = 0; i < launch->attributeCount; i++) {
    uint32_t id = launch->attributes[i].id;
    if (id > LAST_LAUNCH_ATTRIBUTE || id == NO_LAUNCH_ATTRIBUTE) return CUDA_ERROR_INVALID_VALUE;
    if (id == LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION && !divides_grid(&launch->attributes[i], launch)) {
      return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    }
    if (id == LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT || id == LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT) {
      static _Atomic int warned;
      if (!atomic_exchange_explicit(&warned, 1, memory_order_relaxed)) {
        log_line(LOG_WARN, "launch attribute %u is not supported (CUDA_ERROR_NOT_SUPPORTED)",
                 id);
      }
      return CUDA_ERROR_NOT_SUPPORTED;
    }
  }
  return CUDA_SUCCESS;
}

void launch_pack(const struct function_info *info, uint8_t *to, void **parameters) {
  if (info->gaps) memset(to, 0, info->parameterBytes);
  for (uint32_t i = 0; i < info->parameterCount; i++) {
    const struct parameter *parameter = &info->parameters[i];
    switch (parameter->bytes) {
      case 8:
        memcpy(to + parameter->offset, parameters[i], 8);
        break;
      case 4:
        memcpy(to + parameter->offset, parameters[i], 4);
        break;
      default:
        memcpy(to + parameter->offset, parameters[i], parameter->bytes);
        break;
    }
  }
}

/** The words of a parameter that can be pointers: those at multiples of eight from its start. */
static CUresult map_words(const uint8_t *bytes, size_t length, bool *moved) {
  CUresult result = CUDA_SUCCESS;
  for (size_t at = 0; at + 8 <= length && !result; at += 8) {
    uint64_t word;
    memcpy(&word, bytes + at, sizeof word);
    result = mapped_make(word, moved);
  }
  return result;
}

/** Kernels may be given the program's own address of page-locked memory, however that was allocated. */
static CUresult map_pinned(const struct function_info *info, void **parameters, const void *packed,
                           size_t packedBytes, bool *moved) {
  if (packed) return map_words(packed, packedBytes, moved);
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < info->parameterCount && !result; i++) {
    const struct parameter *parameter = &info->parameters[i];
    if (parameter->offset % 8 == 0) {
      result = map_words(parameters[i], parameter->bytes, moved);
    }
  }
  return result;
}

static void translate_pinned(uint8_t *packed, size_t packedBytes) {
  for (size_t at = 0; at + 8 <= packedBytes; at += 8) {
    uint64_t word;
    memcpy(&word, packed + at, sizeof word);
    word = mapped_translate(word);
    memcpy(packed + at, &word, sizeof word);
  }
}

/** The handles of a launch, resolved. */
struct target {
  struct context *context;
  struct function *function;
  uint32_t stream;
};

/** The parameters of a launch: one by one, or packed if that is not NULL. */
struct arguments {
  void **parameters;
  const void *packed;
  uint32_t bytes;
  bool moved;  // some point to memory that kernels find elsewhere than the program
};

/** Finds the function in the current context. */
static CUresult find_function(CUfunction handle, struct target *target) {
  CUresult result = context_current(&target->context);
  if (UNLIKELY(result)) return result;
  result = function_find(handle, &target->context, &target->function);
  if (UNLIKELY(result)) return result;
  return LIKELY(target->function->context == target->context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/** Finds the stream, which may bring a context of its own. */
static CUresult find_stream(CUstream handle, struct target *target) {
  CUresult result = stream_number(handle, &target->context, &target->stream);
  if (UNLIKELY(result)) return result;
  // A stream of another connection has brought its own context, a default stream may be a green one's.
  return LIKELY(target->function->context == target->context->home) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/** Makes the memory ready that the program shares with kernels. */
static CUresult prepare_memory(const struct target *target, struct arguments *arguments) {
  CUresult result = CUDA_SUCCESS;
  if (UNLIKELY(!ranges_empty(&hostRanges))) {
    result = map_pinned(target->function->info, arguments->parameters, arguments->packed, arguments->bytes,
                        &arguments->moved);
  }
  return LIKELY(!result) ? before_submit(target->context, target->stream) : result;
}

static uint8_t *put_attributes(uint8_t *at, const struct launch *launch) {
  for (unsigned int i = 0; i < launch->attributeCount; i++) {
    struct launch_attribute attribute = launch->attributes[i];
    attribute.padding = 0;
    memcpy(at, &attribute, sizeof attribute);
    at += sizeof attribute;
  }
  return at;
}

static void put_arguments(uint8_t *at, const struct arguments *arguments, const struct function_info *info) {
  if (arguments->packed) {
    memcpy(at, arguments->packed, arguments->bytes);
  } else {
    launch_pack(info, at, arguments->parameters);
  }
  if (UNLIKELY(arguments->moved)) translate_pinned(at, arguments->bytes);
}

/** Posts the frame of a launch. */
static CUresult post(const struct target *target, const struct launch *launch, const struct arguments *arguments) {
  uint32_t attributeBytes = launch->attributeCount * (uint32_t)sizeof(struct launch_attribute);
  uint32_t length = (uint32_t)sizeof(struct launch_request) + attributeBytes + ((arguments->bytes + 7) & ~7u);
  struct connection *connection = connection_of(target->context->number);
  uint64_t *slot = ring_begin(connection, length);
  if (UNLIKELY(!slot)) return session_answer();
  slot[0] = FRAME(length, OP_launch, target->context->number);
  if (arguments->bytes & 7) slot[length / 8 - 1] = 0;
  struct launch_request *request = (struct launch_request *)(void *)slot;
  request->function = target->function->slot.number;
  request->stream = target->stream;
  for (int i = 0; i < 3; i++) {
    request->grid[i] = launch->grid[i];
    request->block[i] = launch->block[i];
  }
  request->sharedBytes = launch->sharedBytes;
  request->flags = launch->flags;
  request->parameterBytes = arguments->bytes;
  request->attributeCount = launch->attributeCount;
  put_arguments(put_attributes((uint8_t *)(request + 1), launch), arguments, target->function->info);
  return ring_post(connection);
}

CUresult launch_kernel(CUfunction handle, const struct launch *launch, void **parameters,
                       const void *packed, size_t packedBytes) {
  struct target target;
  CUresult result = find_function(handle, &target);
  if (UNLIKELY(result)) return result;
  struct stream *capturing = capture_stream(launch->stream);
  if (UNLIKELY(capturing != NULL)) {
    return capture_kernel(capturing, handle, launch, parameters, packed, packedBytes);
  }
  result = find_stream(launch->stream, &target);
  if (UNLIKELY(result)) return result;
  const struct function_info *info = target.function->info;
  if (UNLIKELY(!packed && info->parameterCount && !parameters)) return CUDA_ERROR_INVALID_VALUE;
  struct arguments arguments = {.parameters = parameters,
                                .packed = packed,
                                .bytes = packed ? (uint32_t)packedBytes : info->parameterBytes};
  result = prepare_memory(&target, &arguments);
  if (UNLIKELY(result)) return result;
  result = launch_check(handle, target.function, launch);
  if (UNLIKELY(result)) return result;
  return blocking_after(post(&target, launch, &arguments), launch->stream);
}

CUresult launch_extra(void **extra, const void **packed, size_t *packedBytes) {
  *packed = NULL;
  *packedBytes = 0;
  if (LIKELY(!extra)) return CUDA_SUCCESS;
  for (; *extra != PARAMETERS_END; extra += 2) {
    if (*extra == PARAMETERS_POINTER) {
      *packed = extra[1];
    } else if (*extra == PARAMETERS_SIZE && extra[1]) {
      *packedBytes = *(size_t *)extra[1];
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return *packedBytes <= MAX_FRAME_BYTES / 4 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult launch_checked(CUfunction function, const struct launch *launch, void **parameters,
                               void **extra) {
  const void *packed;
  size_t packedBytes;
  if (UNLIKELY(parameters && extra)) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = launch_extra(extra, &packed, &packedBytes);
  return result ? result : launch_kernel(function, launch, parameters, packed, packedBytes);
}

CUresult shim_cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                             unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
                             unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
                             void **kernelParams, void **extra) {
  struct launch launch = {.grid = {gridDimX, gridDimY, gridDimZ},
                          .block = {blockDimX, blockDimY, blockDimZ},
                          .sharedBytes = sharedMemBytes,
                          .stream = hStream};
  return launch_checked(f, &launch, kernelParams, extra);
}

CUresult shim_cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                        unsigned int gridDimZ, unsigned int blockDimX,
                                        unsigned int blockDimY, unsigned int blockDimZ,
                                        unsigned int sharedMemBytes, CUstream hStream,
                                        void **kernelParams) {
  struct launch launch = {.grid = {gridDimX, gridDimY, gridDimZ},
                          .block = {blockDimX, blockDimY, blockDimZ},
                          .sharedBytes = sharedMemBytes,
                          .flags = LAUNCH_COOPERATIVE,
                          .stream = hStream};
  return launch_checked(f, &launch, kernelParams, NULL);
}

CUresult shim_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
                               void **extra, CUstream implied) {
  if (!config) return CUDA_ERROR_INVALID_VALUE;
  struct launch launch = {
      .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
      .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
      .sharedBytes = config->sharedMemBytes,
      .stream = config->hStream ? config->hStream : implied,
      .attributes = config->attrs,
      .attributeCount = config->numAttrs,
  };
  CUresult result = launch_check_attributes(&launch);
  return result ? result : launch_checked(f, &launch, kernelParams, extra);
}
