// SPDX-License-Identifier: Apache-2.0
// Launches. A kernel computes nothing; it takes as long as its name says.
#include "module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_POINTER = 1, BUFFER_SIZE = 2 };

/** CUlaunchConfig */
struct config {
  unsigned grid[3], block[3], shared;
  struct stream *stream;
  const uint32_t *attributes;
  unsigned count;
};

/**
 * Nanoseconds that a kernel takes: its first parameter if its name contains spin_ns, a number behind
 * `for_us_` in its name, without end if `hang` is a word of it.
 */
static uint64_t duration(const struct function *function, const void *parameters, size_t bytes) {
  const char *micros = strstr(function->name, "for_us_");
  uint64_t nanos = 0;
  if (strstr(function->name, "spin_ns")) {
    memcpy(&nanos, parameters, bytes < sizeof nanos ? bytes : sizeof nanos);
    return nanos ? nanos : 1;
  }
  if (micros) return strtoull(micros + 7, NULL, 10) * 1000 + 1;
  return name_says(function->name, "hang") ? UINT64_MAX : options.kernelNanos;
}

static void *name_of(const struct function *function) { return strdup(function->name); }

static bool print(struct work *work) {
  printf("%s: block [0,0,0], thread [0,0,0]\n", (const char *)work->data);
  fflush(stdout);
  return true;
}

static bool fail(struct work *work) {
  struct context *context = (void *)(uintptr_t)work->a;
  if (work->b == CUDA_ERROR_ASSERT && !context->fault) {
    fprintf(stderr, "model.cu:1: %s: block: [0,0,0], thread: [0,0,0] Assertion `false` failed.\n",
            (const char *)work->data);
  }
  if (!context->fault) context->fault = (CUresult)work->b;
  return true;
}

struct work *launch_work(struct function *function, struct stream *stream, uint64_t blocks, const void *parameters,
                         size_t bytes) {
  struct work *work = stream_work(stream, WORK_KERNEL, duration(function, parameters, bytes));
  work->multiprocessors = blocks < options.multiprocessors ? (uint32_t)blocks : options.multiprocessors;
  bool faults = name_says(function->name, "fault"), asserts = name_says(function->name, "assert");
  if (faults || asserts) {
    work->action = fail;
    work->a = (uintptr_t)stream->context;
    work->b = faults ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_ERROR_ASSERT;
    work->data = name_of(function);
  } else if (name_says(function->name, "printf")) {
    work->action = print;
    work->data = name_of(function);
  }
  return work;
}

static CUresult launch(struct function *function, const unsigned grid[3], const unsigned block[3],
                       struct stream *handle, void **parameters, void **extra) {
  struct context *context;
  CUresult result = api_begin(&context);
  uint64_t threads = (uint64_t)block[0] * block[1] * block[2], blocks = (uint64_t)grid[0] * grid[1] * grid[2];
  bool packed = !parameters && extra && extra[0] == (void *)BUFFER_POINTER && extra[2] == (void *)BUFFER_SIZE;
  if (!result && (!threads || threads > (function->maxThreads ? function->maxThreads : 1024) || !blocks || !packed)) result = CUDA_ERROR_INVALID_VALUE;
  if (!result) result = function_load(function);
  if (!result) {
    struct stream *stream = stream_of(context, handle);
    stream_submit(stream, launch_work(function, stream, blocks, extra[1], *(size_t *)extra[3]));
  }
  return api_end(result);
}

API CUresult cuLaunchKernel(struct function *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                            unsigned blockY, unsigned blockZ, unsigned shared, struct stream *stream,
                            void **parameters, void **extra) {
  (void)shared;
  return launch(function, (unsigned[]){gridX, gridY, gridZ}, (unsigned[]){blockX, blockY, blockZ}, stream, parameters,
                extra);
}

API CUresult cuLaunchCooperativeKernel(struct function *function, unsigned gridX, unsigned gridY, unsigned gridZ,
                                       unsigned blockX, unsigned blockY, unsigned blockZ, unsigned shared,
                                       struct stream *stream, void **parameters) {
  (void)function; (void)gridX; (void)gridY; (void)gridZ; (void)blockX; (void)blockY; (void)blockZ; (void)shared;
  (void)stream; (void)parameters;
  return CUDA_ERROR_NOT_SUPPORTED;  // the parameters' sizes are not known
}

enum { ATTRIBUTE_WORDS = 18, ATTRIBUTE_COOPERATIVE = 2 };

API CUresult cuLaunchKernelEx(const struct config *config, struct function *function, void **parameters,
                              void **extra) {
  uint64_t blocks = (uint64_t)config->grid[0] * config->grid[1] * config->grid[2];
  for (unsigned i = 0; i < config->count; i++) {
    const uint32_t *attribute = config->attributes + i * ATTRIBUTE_WORDS;
    bool cooperative = attribute[0] == ATTRIBUTE_COOPERATIVE && attribute[2];
    if (cooperative && blocks > 16ull * options.multiprocessors) return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  }
  return launch(function, config->grid, config->block, config->stream, parameters, extra);
}

API CUresult cuOccupancyMaxPotentialClusterSize(int *size, struct function *function, const struct config *config) {
  (void)function; (void)config;
  *size = 8;
  return CUDA_SUCCESS;
}

API CUresult cuOccupancyMaxActiveClusters(int *count, struct function *function, const struct config *config) {
  (void)function; (void)config;
  *count = (int)options.multiprocessors / 2;
  return CUDA_SUCCESS;
}

API CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, struct function *function, int blocks,
                                                     int blockSize) {
  (void)function;
  if (blocks <= 0 || blockSize <= 0) return CUDA_ERROR_INVALID_VALUE;
  *bytes = (size_t)(227 << 10) / (size_t)blocks;
  return CUDA_SUCCESS;
}
