// SPDX-License-Identifier: Apache-2.0
// Arrays, mipmapped arrays, texture and surface objects. Kernels that would read them are not run.
#include "array.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_LEVELS = 16 };

/** CUDA_ARRAY3D_DESCRIPTOR */
struct descriptor {
  size_t width, height, depth;
  int format;
  unsigned channels, flags;
};

struct mipmap {
  unsigned levels;
  struct array *level[MAX_LEVELS];
};

struct requirements {
  size_t bytes, alignment;
  unsigned reserved[4];
};

static size_t at_least_one(size_t extent) { return extent ? extent : 1; }

/** Returns the bytes of a CUarray_format; 0 if it is unknown. */
static size_t format_bytes(int format) {
  switch (format) {
    case 1: case 8: return 1;
    case 2: case 9: case 0x10: return 2;
    case 3: case 0xa: case 0x20: return 4;
    default: return 0;
  }
}

static uint64_t array_bytes(const struct array *array) {
  return array->width * array->height * array->depth * array->elementBytes;
}

static CUresult new_array(struct context *context, struct array **out, const struct descriptor *d, unsigned level) {
  size_t element = format_bytes(d->format) * d->channels;
  if (!element || !d->width || d->channels == 3 || d->channels > 4) return CUDA_ERROR_INVALID_VALUE;
  struct array *array = calloc(1, sizeof *array);
  *array = (struct array){.width = at_least_one(d->width >> level),
                          .height = at_least_one(d->height >> level),
                          .depth = at_least_one(d->depth >> level),
                          .elementBytes = element,
                          .device = context->device};
  CUresult result = memory_allocate(context->device, array_bytes(array), &array->address);
  if (result) {
    free(array);
    return result;
  }
  *out = array;
  return CUDA_SUCCESS;
}

API CUresult cuArray3DCreate_v2(struct array **out, const struct descriptor *descriptor) {
  struct context *context;
  CUresult result = api_begin(&context);
  return api_end(result ? result : new_array(context, out, descriptor, 0));
}

static CUresult end_array(struct context *context, struct array *array) {
  struct work *tail = context_tail(context);
  work_await(tail);
  work_drop(tail);
  CUresult result = memory_free(array->address);
  if (!result) free(array);
  return result;
}

API CUresult cuArrayDestroy(struct array *array) {
  struct context *context;
  CUresult result = api_begin(&context);
  return api_end(result ? result : end_array(context, array));
}

API CUresult cuMipmappedArrayCreate(struct mipmap **out, const struct descriptor *descriptor, unsigned levels) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result && (!levels || levels > MAX_LEVELS)) result = CUDA_ERROR_INVALID_VALUE;
  if (result) return api_end(result);
  struct mipmap *mipmap = calloc(1, sizeof *mipmap);
  while (!result && mipmap->levels < levels) {
    result = new_array(context, &mipmap->level[mipmap->levels], descriptor, mipmap->levels);
    if (!result) mipmap->levels++;
  }
  *out = mipmap;
  if (result) {
    while (mipmap->levels) end_array(context, mipmap->level[--mipmap->levels]);
    free(mipmap);
  }
  return api_end(result);
}

API CUresult cuMipmappedArrayGetLevel(struct array **out, struct mipmap *mipmap, unsigned level) {
  if (level >= mipmap->levels) return CUDA_ERROR_INVALID_VALUE;
  *out = mipmap->level[level];
  return CUDA_SUCCESS;
}

API CUresult cuMipmappedArrayDestroy(struct mipmap *mipmap) {
  struct context *context;
  CUresult result = api_begin(&context);
  while (!result && mipmap->levels) result = end_array(context, mipmap->level[--mipmap->levels]);
  if (!result) free(mipmap);
  return api_end(result);
}

API CUresult cuArrayGetMemoryRequirements(struct requirements *out, struct array *array, int device) {
  (void)device;
  *out = (struct requirements){.bytes = array_bytes(array), .alignment = 512};
  return CUDA_SUCCESS;
}

API CUresult cuMipmappedArrayGetMemoryRequirements(struct requirements *out, struct mipmap *mipmap, int device) {
  (void)device;
  *out = (struct requirements){.alignment = 512};
  for (unsigned i = 0; i < mipmap->levels; i++) out->bytes += array_bytes(mipmap->level[i]);
  return CUDA_SUCCESS;
}

// Objects are numbers

static uint64_t lastObject;

static CUresult new_object(uint64_t *out, const void *resource) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result && !resource) result = CUDA_ERROR_INVALID_VALUE;
  if (!result) *out = ++lastObject;
  return api_end(result);
}

static CUresult end_object(uint64_t object) {
  struct context *context;
  CUresult result = api_begin(&context);
  return api_end(result ? result : object && object <= lastObject ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

API CUresult cuTexObjectCreate(uint64_t *out, const void *resource, const void *texture, const void *view) {
  (void)view;
  return texture ? new_object(out, resource) : CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuTexObjectDestroy(uint64_t object) { return end_object(object); }

API CUresult cuSurfObjectCreate(uint64_t *out, const void *resource) { return new_object(out, resource); }

API CUresult cuSurfObjectDestroy(uint64_t object) { return end_object(object); }
