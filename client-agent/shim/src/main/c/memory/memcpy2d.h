// SPDX-License-Identifier: Apache-2.0
// Copies of boxes as graphs have them: memcpy3d.h for CUDA_MEMCPY3D.
#pragma once

#include "memory/memcpy3d.h"

CUresult rect_kind(const CUDA_MEMCPY3D *copy, enum box_kind *kind);
CUresult rect_post(struct context *context, uint32_t stream, const CUDA_MEMCPY3D *copy);
CUresult rect_on_host(const CUDA_MEMCPY3D *copy);
