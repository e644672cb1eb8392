// SPDX-License-Identifier: Apache-2.0
#include "memory/mipmapped_array.h"

#include "ops.h"
#include "shim.h"

#include <string.h>

ARENA(mipmaps, mipmap, 1 << 14, 0x4d495031);

struct mipmap *mipmap_find(CUmipmappedArray handle) { return arena_find(&mipmaps, handle); }

static void mipmaps_forget(struct context *context) {
  for (uint32_t i = 0; i < arena_used(&mipmaps); i++) {
    struct mipmap *mipmap = arena_at(&mipmaps, i);
    if (mipmap && mipmap->context == context) arena_give(&mipmaps, mipmap);
  }
}
ON_CONTEXT_END(memory, mipmaps_forget);

static size_t halved(size_t extent, unsigned int times) {
  size_t left = extent >> times;
  return extent && !left ? 1 : left;
}

/** A driver gives no more levels than there are until every extent is one. */
static unsigned int most_levels(const CUDA_ARRAY3D_DESCRIPTOR *descriptor) {
  bool layers = descriptor->Flags & (ARRAY_LAYERED | ARRAY_CUBEMAP);
  size_t longest = descriptor->Width;
  if (descriptor->Height > longest) longest = descriptor->Height;
  if (!layers && descriptor->Depth > longest) longest = descriptor->Depth;
  unsigned int levels = 1;
  while (levels < MAX_MIPMAP_LEVELS && longest >> levels) levels++;
  return levels;
}

CUresult shim_cuMipmappedArrayCreate(CUmipmappedArray *pHandle,
                                     const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc,
                                     unsigned int numMipmapLevels) {
  struct context *context;
  if (!pHandle || !pMipmappedArrayDesc || !numMipmapLevels) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_current(&context);
  if (result) return result;
  struct mipmap *mipmap = arena_take(&mipmaps);
  if (!mipmap) return CUDA_ERROR_OUT_OF_MEMORY;
  unsigned int most = most_levels(pMipmappedArrayDesc);
  mipmap->context = context;
  mipmap->descriptor = *pMipmappedArrayDesc;
  mipmap->levels = numMipmapLevels < most ? numMipmapLevels : most;
  const CUDA_ARRAY3D_DESCRIPTOR *asked = &mipmap->descriptor;
  result = context_result(
      context, op_mipmapCreate(context->number, mipmap->slot.number, asked->Width, asked->Height,
                               asked->Depth, (uint32_t)asked->Format, asked->NumChannels,
                               asked->Flags, mipmap->levels));
  arena_publish(&mipmaps, mipmap);
  if (result) {
    arena_give(&mipmaps, mipmap);
    return result;
  }
  *pHandle = (CUmipmappedArray)(void *)mipmap;
  return CUDA_SUCCESS;
}

static CUresult make_level(struct mipmap *mipmap, unsigned int level, struct array **made) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = mipmap->descriptor;
  descriptor.Width = halved(descriptor.Width, level);
  descriptor.Height = halved(descriptor.Height, level);
  if (!(descriptor.Flags & (ARRAY_LAYERED | ARRAY_CUBEMAP))) {
    descriptor.Depth = halved(descriptor.Depth, level);
  }
  struct array *array = array_make(mipmap->context, &descriptor);
  if (!array) return CUDA_ERROR_OUT_OF_MEMORY;
  array->mipmap = mipmap;
  arena_publish(&arrays, array);
  *made = mipmap->level[level] = array;
  return op_mipmapGetLevel(mipmap->context->number, mipmap->slot.number, level,
                           array->slot.number);
}

CUresult shim_cuMipmappedArrayGetLevel(CUarray *pLevelArray, CUmipmappedArray hMipmappedArray,
                                       unsigned int level) {
  struct mipmap *mipmap = mipmap_find(hMipmappedArray);
  if (!mipmap) return CUDA_ERROR_INVALID_HANDLE;
  if (!pLevelArray || level >= mipmap->levels) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = CUDA_SUCCESS;
  lock_take(&mipmap->lock);
  struct array *array = mipmap->level[level];
  if (!array) result = make_level(mipmap, level, &array);
  lock_release(&mipmap->lock);
  if (result) return result;
  *pLevelArray = (CUarray)(void *)array;
  return CUDA_SUCCESS;
}

CUresult shim_cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray) {
  struct mipmap *mipmap = mipmap_find(hMipmappedArray);
  if (!mipmap) return CUDA_ERROR_INVALID_HANDLE;
  CUresult result = op_mipmapDestroy(mipmap->context->number, mipmap->slot.number);
  struct array *levels[MAX_MIPMAP_LEVELS];
  memcpy(levels, mipmap->level, sizeof levels);
  if (!arena_give(&mipmaps, mipmap)) return CUDA_ERROR_INVALID_HANDLE;
  for (int i = 0; i < MAX_MIPMAP_LEVELS; i++) {
    if (levels[i]) arena_give(&arrays, levels[i]);
  }
  return result;
}
