// SPDX-License-Identifier: Apache-2.0
// Copies of boxes: width bytes, height rows, depth slices, from memory or an array to memory or an array.
#pragma once

#include "memory/memcpy.h"

/** One end of a copy, as a program describes it. */
struct copy_operand {
  int memoryType;
  const void *host;
  CUdeviceptr device;
  CUarray array;
  uint64_t pitch, sliceRows;  // 0: as tight as can be
  uint64_t x, y, z;           // x in bytes
};

struct copy_extent {
  uint64_t width, height, depth;
};

/**
 * Copies in a stream. wait: returns as a synchronous copy does.
 * CUDA_ERROR_INVALID_VALUE: a pitch is too small or larger than the device allows, a region is not within
 * its array or not of whole elements, memory is NULL or ends too early, or a type is unknown.
 */
CUresult copy3d(const struct copy_operand *from, const struct copy_operand *to,
                  const struct copy_extent *extent, CUstream handle, bool wait);

/** The way in which a copy is made. */
enum copy3d_kind {
  COPY3D_ON_DEVICE,  // between memory of devices
  COPY3D_IN_STREAM,  // with an array, or between a device and the host
  COPY3D_ON_HOST,
};

/** Makes the checks of copy3d; CUDA_ERROR_INVALID_VALUE, too, if there is nothing to copy. */
CUresult copy3d_kind(const struct copy_operand *from, const struct copy_operand *to,
                  const struct copy_extent *extent, enum copy3d_kind *kind);

/**
 * Puts a copy with a device into a stream. A source on the host is read before this returns; what is
 * for the host is there when a later fence says that the stream has come to here.
 */
CUresult copy3d_post(struct context *context, uint32_t stream, const struct copy_operand *from,
                  const struct copy_operand *to, const struct copy_extent *extent);

/** Copies from host to host, now. */
CUresult copy3d_on_host(const struct copy_operand *from, const struct copy_operand *to,
                     const struct copy_extent *extent);
