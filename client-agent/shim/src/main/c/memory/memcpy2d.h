// SPDX-License-Identifier: Apache-2.0
// Copies of rectangles and boxes as the driver API describes them; memcpy3d.h makes them.
#pragma once

#include "memory/memcpy3d.h"

CUresult memcpy3d_kind(const CUDA_MEMCPY3D *copy, enum copy3d_kind *kind);
CUresult memcpy3d_post(struct context *context, uint32_t stream, const CUDA_MEMCPY3D *copy);
CUresult memcpy3d_on_host(const CUDA_MEMCPY3D *copy);
