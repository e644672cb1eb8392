// SPDX-License-Identifier: Apache-2.0
// CUDA arrays: handles of this process for what lies on the device.
#pragma once

#include "context/context.h"

enum {
  ARRAY_LAYERED = 0x01,
  ARRAY_SURFACE = 0x02,
  ARRAY_CUBEMAP = 0x04,
  ARRAY_DEFERRED_MAPPING = 0x80,
};

struct mipmap;

struct array {
  struct slot slot;
  uint32_t elementBytes;  // 0: of a format whose elements have no size of their own
  struct context *context;
  struct mipmap *mipmap;  // of which it is a level; NULL: none
  CUDA_ARRAY3D_DESCRIPTOR descriptor;
};

extern struct arena arrays;

struct array *array_find(CUarray handle);

/** An array that is not published yet; NULL if there is no room. */
struct array *array_make(struct context *context, const CUDA_ARRAY3D_DESCRIPTOR *descriptor);

/** Asks the worker how much memory an array or mipmapped array of a number takes. */
typedef CUresult array_memory_op(uint16_t context, uint32_t number, uint64_t *bytes,
                                 uint64_t *alignment);

/** The answer of cuArrayGetMemoryRequirements and cuMipmappedArrayGetMemoryRequirements. */
CUresult array_requirements(struct context *context, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
                            uint32_t number, CUdevice device, array_memory_op *ask,
                            CUDA_ARRAY_MEMORY_REQUIREMENTS *requirements);
