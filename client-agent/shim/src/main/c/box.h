// SPDX-License-Identifier: Apache-2.0
// Copies of boxes: width bytes, height rows, depth slices, from memory or an array to memory or an array.
#pragma once

#include "copy.h"

/** One end of a copy, as a program describes it. */
struct description {
  int memoryType;
  const void *host;
  CUdeviceptr device;
  CUarray array;
  uint64_t pitch, sliceRows;  // 0: as tight as can be
  uint64_t x, y, z;           // x in bytes
};

struct extent {
  uint64_t width, height, depth;
};

/**
 * Copies in a stream. wait: returns as a synchronous copy does.
 * CUDA_ERROR_INVALID_VALUE: a pitch is too small or larger than the device allows, a box is not within
 * its array or not of whole elements, memory is NULL or ends too early, or a type is unknown.
 */
CUresult box_copy(const struct description *from, const struct description *to,
                  const struct extent *extent, CUstream handle, bool wait);
