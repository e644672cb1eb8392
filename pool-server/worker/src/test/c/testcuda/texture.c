// SPDX-License-Identifier: Apache-2.0
// Texture objects and references, surface objects and tensor maps.
#include "driver.h"

#include <string.h>

/* Texture and surface objects are numbers. */
static uint64_t objects;

Result cuTexObjectCreate(uint64_t *out, const void *resource, const void *texture, const void *view) {
  count_call();
  (void)view;
  if (!resource || !texture) return INVALID_VALUE;
  *out = __atomic_add_fetch(&objects, 1, __ATOMIC_RELAXED);
  return usable();
}

Result cuTexObjectDestroy(uint64_t object) { return object ? usable() : INVALID_VALUE; }

Result cuSurfObjectCreate(uint64_t *out, const int *resource) {
  count_call();
  if (*resource) return INVALID_VALUE;
  *out = __atomic_add_fetch(&objects, 1, __ATOMIC_RELAXED);
  return usable();
}

Result cuSurfObjectDestroy(uint64_t object) { return object ? usable() : INVALID_VALUE; }

/* A tensor map holds the arguments that it was made of, the address first. */
Result cuTensorMapEncodeTiled(uint64_t *map, int type, uint32_t rank, uint64_t address, const uint64_t *dims,
                              const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
                              int interleave, int swizzle, int promotion, int fill) {
  if ((uintptr_t)map % 64 || !rank || rank > 5 || address % 16) return INVALID_VALUE;
  map[0] = address;
  map[1] = (uint64_t)type << 32 | rank;
  for (uint32_t d = 0; d < rank; d++) map[2 + d] = dims[d];
  for (uint32_t d = 0; d + 1 < rank; d++) map[7 + d] = strides[d];
  map[11] = (uint64_t)box[0] << 32 | steps[rank - 1];
  map[12] = (uint64_t)interleave << 48 | (uint64_t)swizzle << 32 | (uint64_t)promotion << 16 | (uint64_t)fill;
  return usable();
}

Result cuTensorMapEncodeIm2col(uint64_t *map, int type, uint32_t rank, uint64_t address, const uint64_t *dims,
                               const uint64_t *strides, const int *lower, const int *upper, uint32_t channels,
                               uint32_t pixels, const uint32_t *steps, int interleave, int swizzle, int promotion,
                               int fill) {
  const uint32_t box[] = {channels, pixels};
  Result result = cuTensorMapEncodeTiled(map, type, rank, address, dims, strides, box, steps, interleave, swizzle,
                                         promotion, fill);
  map[13] = (uint64_t)(uint32_t)lower[rank - 3] << 32 | (uint32_t)upper[rank - 3];
  map[14] = pixels;
  return result;
}

Result cuTensorMapReplaceAddress(uint64_t *map, uint64_t address) {
  count_call();
  if (address % 16) return INVALID_VALUE;
  map[0] = address;
  return usable();
}

/* References: one of each kind, called "plane" and "canvas", which take these values alone. */
enum { FORMAT_FLOAT = 0x20, BORDER_MODE = 3 };

struct plane {
  size_t width, height;
  int format;
  unsigned channels;
};

static char plane, canvas;

static Result expect(int good) { return good ? usable() : INVALID_VALUE; }

Result cuModuleGetTexRef(void **out, struct module *module, const char *name) {
  if (!module || strcmp(name, "plane") != 0) return NOT_FOUND;
  *out = &plane;
  return usable();
}

Result cuModuleGetSurfRef(void **out, struct module *module, const char *name) {
  if (!module || strcmp(name, "canvas") != 0) return NOT_FOUND;
  *out = &canvas;
  return usable();
}

Result cuTexRefSetFormat(void *reference, int format, int channels) {
  return expect(reference == &plane && format == FORMAT_FLOAT && channels == 2);
}

Result cuTexRefSetAddressMode(void *reference, int dimension, int mode) {
  return expect(reference == &plane && dimension == 1 && mode == BORDER_MODE);
}

Result cuTexRefSetFilterMode(void *reference, int mode) { return expect(reference == &plane && mode == 1); }

Result cuTexRefSetFlags(void *reference, unsigned flags) { return expect(reference == &plane && flags == 2); }

Result cuTexRefSetMaxAnisotropy(void *reference, unsigned most) { return expect(reference == &plane && most == 8); }

Result cuTexRefSetMipmapFilterMode(void *reference, int mode) { return expect(reference == &plane && mode == 1); }

Result cuTexRefSetMipmapLevelBias(void *reference, float bias) { return expect(reference == &plane && bias == 0.5f); }

Result cuTexRefSetMipmapLevelClamp(void *reference, float least, float most) {
  return expect(reference == &plane && least == 1.5f && most == 2.5f);
}

Result cuTexRefSetBorderColor(void *reference, const float *color) {
  return expect(reference == &plane && color[0] == 1 && color[1] == 2 && color[2] == 3 && color[3] == 4);
}

Result cuTexRefSetArray(void *reference, struct array *array, unsigned flags) {
  count_call();
  return expect(reference == &plane && array->width == 16 && flags == 1);
}

Result cuTexRefSetAddress_v2(size_t *offset, void *reference, Address address, size_t bytes) {
  count_call();
  *offset = 0;
  return expect(reference == &plane && (address ? is_allocated(address, 64) && bytes == 64 : bytes == 0));
}

Result cuTexRefSetAddress2D_v3(void *reference, const struct plane *description, Address address, size_t pitch) {
  count_call();
  return expect(reference == &plane && description->width == 7 && description->height == 5 &&
                description->format == FORMAT_FLOAT && description->channels == 2 && is_allocated(address, 5 * 64) && pitch == 64);
}

Result cuSurfRefSetArray(void *reference, struct array *array, unsigned flags) {
  return expect(reference == &canvas && array->width == 16 && flags == 0);
}
