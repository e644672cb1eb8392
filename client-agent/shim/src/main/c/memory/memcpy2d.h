// SPDX-License-Identifier: Apache-2.0
// Copies of rectangles and boxes as the driver API describes them; memcpy3d.h makes them.
#pragma once

#include "memory/memcpy3d.h"

// Copies in a stream. wait: until it is done.
CUresult copy_2d(const CUDA_MEMCPY2D *copy, CUstream handle, bool wait);
CUresult copy_2d_v1(const CUDA_MEMCPY2D_v1 *copy, CUstream handle, bool wait);
CUresult copy_3d(const CUDA_MEMCPY3D *copy, CUstream handle, bool wait);
CUresult copy_3d_v1(const CUDA_MEMCPY3D_v1 *copy, CUstream handle, bool wait);
CUresult copy_3d_peer(const CUDA_MEMCPY3D_PEER *copy, CUstream handle, bool wait);

// The copies of graphs.
CUresult memcpy3d_kind(const CUDA_MEMCPY3D *copy, enum copy3d_kind *kind);
CUresult memcpy3d_post(struct context *context, uint32_t stream, const CUDA_MEMCPY3D *copy);
CUresult memcpy3d_on_host(const CUDA_MEMCPY3D *copy);
