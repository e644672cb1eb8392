// SPDX-License-Identifier: Apache-2.0
// Copies of rectangles and boxes as the driver API describes them.
#include "memory/memcpy2d.h"

#define SIDE_2D(copy, end) \
  { copy->end##MemoryType, copy->end##Host, copy->end##Device, copy->end##Array, \
    copy->end##Pitch, 0, copy->end##XInBytes, copy->end##Y, 0 }

#define SIDE_3D(copy, end) \
  { copy->end##MemoryType, copy->end##Host, copy->end##Device, copy->end##Array, \
    copy->end##Pitch, copy->end##Height, copy->end##XInBytes, copy->end##Y, copy->end##Z }

#define COPY_2D(type, name) \
  CUresult name(const type *copy, CUstream handle, bool wait) { \
    if (!copy) return CUDA_ERROR_INVALID_VALUE; \
    struct copy_operand from = SIDE_2D(copy, src), to = SIDE_2D(copy, dst); \
    struct copy_extent extent = {copy->WidthInBytes, copy->Height, 1}; \
    return copy3d(&from, &to, &extent, handle, wait); \
  }

#define COPY_3D(type, name) \
  CUresult name(const type *copy, CUstream handle, bool wait) { \
    if (!copy || copy->srcLOD || copy->dstLOD) return CUDA_ERROR_INVALID_VALUE; \
    struct copy_operand from = SIDE_3D(copy, src), to = SIDE_3D(copy, dst); \
    struct copy_extent extent = {copy->WidthInBytes, copy->Height, copy->Depth}; \
    return copy3d(&from, &to, &extent, handle, wait); \
  }

/** A copy of graphs taken apart. */
struct parts {
  struct copy_operand from, to;
  struct copy_extent extent;
};

static struct parts parts_of(const CUDA_MEMCPY3D *copy) {
  return (struct parts){
      SIDE_3D(copy, src), SIDE_3D(copy, dst), {copy->WidthInBytes, copy->Height, copy->Depth}};
}

CUresult memcpy3d_kind(const CUDA_MEMCPY3D *copy, enum copy3d_kind *kind) {
  struct parts parts = parts_of(copy);
  if (copy->srcLOD || copy->dstLOD) return CUDA_ERROR_INVALID_VALUE;
  return copy3d_kind(&parts.from, &parts.to, &parts.extent, kind);
}

CUresult memcpy3d_post(struct context *context, uint32_t stream, const CUDA_MEMCPY3D *copy) {
  struct parts parts = parts_of(copy);
  return copy3d_post(context, stream, &parts.from, &parts.to, &parts.extent);
}

CUresult memcpy3d_on_host(const CUDA_MEMCPY3D *copy) {
  struct parts parts = parts_of(copy);
  return copy3d_on_host(&parts.from, &parts.to, &parts.extent);
}

COPY_2D(CUDA_MEMCPY2D, copy_2d)
COPY_2D(CUDA_MEMCPY2D_v1, copy_2d_v1)
COPY_3D(CUDA_MEMCPY3D, copy_3d)
COPY_3D(CUDA_MEMCPY3D_v1, copy_3d_v1)
COPY_3D(CUDA_MEMCPY3D_PEER, copy_3d_peer)
