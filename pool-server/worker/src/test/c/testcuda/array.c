// SPDX-License-Identifier: Apache-2.0
// Arrays: rows one after the other, in memory that counts. A mipmapped array is its levels.
#include "driver.h"

#include <stdlib.h>

struct descriptor {
  size_t width, height, depth;
  int format;
  unsigned channels, flags;
};

struct mipmap {
  unsigned levels;
  struct array *level[16];
};

static size_t at_least_one(size_t extent) { return extent ? extent : 1; }

static Result new_array(struct array **out, const struct descriptor *d, unsigned level) {
  struct array *array = calloc(1, sizeof *array);
  *array = (struct array){at_least_one(d->width >> level), at_least_one(d->height >> level),
                          at_least_one(d->depth >> level), d->channels, 0};
  array->element *= d->format == 1 || d->format == 8 ? 1 : d->format == 2 || d->format == 9 ? 2 : 4;
  Result result = cuMemAlloc_v2(&array->memory, array->width * array->height * array->depth * array->element);
  if (result) { free(array); return result; }
  *out = array;
  return SUCCESS;
}

Result cuArray3DCreate_v2(struct array **out, const struct descriptor *descriptor) {
  return descriptor->width ? new_array(out, descriptor, 0) : INVALID_VALUE;
}

Result cuArrayDestroy(struct array *array) {
  Result result = cuMemFree_v2(array->memory);
  if (!result) free(array);
  return result;
}

Result cuMipmappedArrayCreate(struct mipmap **out, const struct descriptor *descriptor, unsigned levels) {
  if (!levels || levels > 16 || !descriptor->width) return INVALID_VALUE;
  struct mipmap *mipmap = calloc(1, sizeof *mipmap);
  Result result = SUCCESS;
  for (mipmap->levels = 0; mipmap->levels < levels && !result; mipmap->levels++)
    result = new_array(&mipmap->level[mipmap->levels], descriptor, mipmap->levels);
  *out = mipmap;
  return result;
}

Result cuMipmappedArrayGetLevel(struct array **out, struct mipmap *mipmap, unsigned level) {
  if (level >= mipmap->levels) return INVALID_VALUE;
  *out = mipmap->level[level];
  return SUCCESS;
}

Result cuMipmappedArrayDestroy(struct mipmap *mipmap) {
  Result result = SUCCESS;
  for (unsigned i = 0; i < mipmap->levels && !result; i++) result = cuArrayDestroy(mipmap->level[i]);
  free(mipmap);
  return result;
}
