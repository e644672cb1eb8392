// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects. Their values are the backend's, since kernels are given them; what they
// were made of is kept here.
#pragma once

#include "context/context.h"

/** CUresourcetype; RESOURCE_NOTHING is none of CUDA's. */
enum {
  RESOURCE_ARRAY,
  RESOURCE_MIPMAPPED_ARRAY,
  RESOURCE_LINEAR,
  RESOURCE_PITCH2D,
  RESOURCE_NOTHING = -1,
};

/** A resource as it travels: handles become numbers. */
CUresult texture_number(const CUDA_RESOURCE_DESC *given, CUDA_RESOURCE_DESC *numbered);
