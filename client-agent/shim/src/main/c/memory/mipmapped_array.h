// SPDX-License-Identifier: Apache-2.0
// Mipmapped arrays. Their levels are arrays that belong to them; each level has one handle.
#pragma once

#include "memory/array.h"

enum { MAX_MIPMAP_LEVELS = 32 };

struct mipmap {
  struct slot slot;
  uint32_t levels;
  struct context *context;
  CUDA_ARRAY3D_DESCRIPTOR descriptor;
  struct lock lock;
  struct array *level[MAX_MIPMAP_LEVELS];  // NULL until asked for
};

struct mipmap *mipmap_find(CUmipmappedArray handle);
