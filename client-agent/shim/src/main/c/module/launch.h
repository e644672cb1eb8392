// SPDX-License-Identifier: Apache-2.0
// Kernel launches.
#pragma once

#include "module/module.h"

enum { MAX_LAUNCH_ATTRIBUTES = 32 };

struct launch {
  unsigned int grid[3], block[3];
  unsigned int sharedBytes;
  unsigned int flags;
  CUstream stream;
  const struct launch_attribute *attributes;
  unsigned int attributeCount;
};

/** Launches with parameters one by one, or packed in a buffer of so many bytes if that is not NULL. */
CUresult launch_kernel(CUfunction handle, const struct launch *launch, void **parameters,
                       const void *packed, size_t packedBytes);

/** Returns whether a function can be launched so. */
CUresult launch_check(CUfunction handle, struct function *function, const struct launch *launch);

/** Returns whether a launch may have these attributes. */
CUresult launch_check_attributes(const struct launch *launch);

/** Copies parameters to where the function's table wants them. */
void launch_pack(const struct function_info *info, uint8_t *to, void **parameters);

/** Takes `extra` apart; the buffer is NULL if there is none. */
CUresult launch_extra(void **extra, const void **packed, size_t *packedBytes);
