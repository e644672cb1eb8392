// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "module.h"

struct launch {
  unsigned int grid[3], block[3];
  unsigned int sharedBytes;
  unsigned int flags;
  CUstream stream;
  const struct launch_attribute *attributes;
  unsigned int attributeCount;
};

/** Launches with parameters one by one, or packed in a buffer of so many bytes if that is not NULL. */
CUresult launch_kernel(CUfunction function, const struct launch *launch, void **parameters,
                       const void *packed, size_t packedBytes);

/** Frees what cuParamSet... has gathered for a function. */
void legacy_free(struct function *function);
