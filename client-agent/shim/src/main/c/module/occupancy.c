// SPDX-License-Identifier: Apache-2.0
// How many blocks of a kernel run at once, and the block size that fills a multiprocessor best, found by asking for
// one size after the other.
#include "module/occupancy.h"

#include "core/handles.h"
#include "module/cluster_questions.h"
#include "module/function.h"
#include "module/function_attributes.h"
#include "module/known_occupancy.h"
#include "module/launch.h"
#include "module/module.h"
#include "ops.h"
#include "shim.h"
#include "transport/device_table.h"

#include <stdlib.h>
#include <string.h>

enum { FUNCTION_MAX_THREADS = 0 };

CUresult occupancy_blocks(int *value, CUfunction func, int blockSize, size_t sharedBytes, unsigned int flags) {
  struct function *function;
  struct occupancy asked = {.sharedBytes = sharedBytes, .blockSize = blockSize, .flags = flags};
  if (!value) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = function_given(func, &function);
  if (result) return result;
  uint32_t changes;
  if (!known_occupancy(function, &asked, &changes)) {
    struct context *context = function->context;
    result = context_result(context, op_functionBlocks(context->number, function->slot.number, blockSize, sharedBytes,
                                                       flags, &asked.blocks));
    if (result) return result;
    known_occupancy_add(function, &asked, changes);
  }
  *value = asked.blocks;
  return CUDA_SUCCESS;
}

typedef size_t (*shared_of_block)(int blockSize);

CUresult shim_cuOccupancyMaxPotentialBlockSizeWithFlags(int *minGridSize, int *blockSize,
                                                        CUfunction func,
                                                        CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                        size_t dynamicSMemSize, int blockSizeLimit,
                                                        unsigned int flags) {
  struct context *context;
  struct function *function;
  int32_t most = 0;
  if (!minGridSize || !blockSize || blockSizeLimit < 0) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_current(&context);
  if (!result) result = function_find(func, &context, &function);
  if (!result) result = function_attribute(function, FUNCTION_MAX_THREADS, &most);
  if (result) return result;
  int warp = device_attribute(context->device, ATTRIBUTE_WARP_SIZE);
  int limit = device_attribute(context->device, ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  if (most > 0 && most < limit) limit = most;
  if (blockSizeLimit && blockSizeLimit < limit) limit = blockSizeLimit;
  int bestThreads = 0, bestBlocks = 0, bestSize = 0;
  // The largest first; a smaller one only if it keeps more threads busy.
  for (int rounded = (limit + warp - 1) / warp * warp; rounded > 0; rounded -= warp) {
    int size = rounded < limit ? rounded : limit;
    size_t shared = blockSizeToDynamicSMemSize
                        ? ((shared_of_block)blockSizeToDynamicSMemSize)(size)
                        : dynamicSMemSize;
    int blocks = 0;
    result = shim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, func, size, shared,
                                                                       flags);
    if (result) return result;
    if (blocks * size > bestThreads) {
      bestThreads = blocks * size;
      bestBlocks = blocks;
      bestSize = size;
    }
    int full = device_attribute(context->device, ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    if (bestThreads == full) break;
  }
  *blockSize = bestSize;
  *minGridSize =
      bestBlocks * device_attribute(context->device, ATTRIBUTE_MULTIPROCESSOR_COUNT);
  return CUDA_SUCCESS;
}

CUresult occupancy_clusters(int *value, CUfunction func, const CUlaunchConfig *config, bool active) {
  struct context *context;
  struct function *function;
  int32_t answer = 0;
  if (!value || !config || config->numAttrs > MAX_LAUNCH_ATTRIBUTES ||
      (config->numAttrs && !config->attrs)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUresult result = context_current(&context);
  if (!result) result = function_find(func, &context, &function);
  if (result) return result;
  if (active && cluster_question(context, function, config, &result, &answer)) {
    if (!result) *value = answer;
    return result;
  }
  struct cluster_request head = {
      .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
      .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
      .sharedBytes = config->sharedMemBytes,
      .attributeCount = config->numAttrs,
  };
  size_t attributeBytes = config->numAttrs * sizeof *config->attrs;
  uint8_t *bytes = malloc(sizeof head + attributeBytes);
  if (!bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  memcpy(bytes, &head, sizeof head);
  if (attributeBytes) memcpy(bytes + sizeof head, config->attrs, attributeBytes);
  result = context_result(context, op_functionClusters(context->number, function->slot.number, active,
                                                       bytes, sizeof head + attributeBytes, &answer));
  free(bytes);
  if (!result) *value = answer;
  return result;
}
