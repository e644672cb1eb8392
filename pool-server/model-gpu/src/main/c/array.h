// SPDX-License-Identifier: Apache-2.0
// Arrays, which lie row by row here, and what copies and fills are described by.
#pragma once

#include "driver.h"

struct array {
  size_t width, height, depth, elementBytes;
  uint32_t device;
  CUdeviceptr address;
};

/** One side of CUDA_MEMCPY3D. */
struct side {
  size_t x, y, z, level;
  int type;
  void *host;
  CUdeviceptr device;
  struct array *array;
  void *reserved;
  size_t pitch, rows;
};

/** CUDA_MEMCPY3D */
struct box {
  struct side from, to;
  size_t width, height, depth;
};

/** CUDA_MEMSET_NODE_PARAMS */
struct fill {
  CUdeviceptr address;
  size_t pitch;
  unsigned value, element;
  size_t width, height;
};

/** A copy that is yet to be submitted, or NULL if it reaches beyond memory. The lock is held. */
struct work *box_work(struct stream *stream, const struct box *box);

/** The same of a fill. */
struct work *fill_work(struct stream *stream, const struct fill *fill);
