// SPDX-License-Identifier: Apache-2.0
// Texture and surface references: what programs bind to a name of a module (.texref, .surfref).
#pragma once

#include "module/module.h"

/** A reference as it was set; getters answer from it, and each change is posted. */
struct reference {
  struct slot slot;
  bool surface;
  struct module *module;  // NULL: of cuTexRefCreate, which no kernel reads
  char *name;             // in the module
  uint64_t value;         // the worker's
  CUarray_format format;
  unsigned int channels;
  CUDA_RESOURCE_DESC resource;  // of a surface: an array
  CUDA_TEXTURE_DESC texture;
};

extern struct arena references;

/** The property of a reference that has changed, for the op referenceSet. */
enum reference_property {
  PROPERTY_RESOURCE,
  PROPERTY_FORMAT,
  PROPERTY_ADDRESS_MODE,  // and two more, for the other dimensions
  PROPERTY_FILTER_MODE = PROPERTY_ADDRESS_MODE + 3,
  PROPERTY_FLAGS,
  PROPERTY_ANISOTROPY,
  PROPERTY_MIPMAP_FILTER_MODE,
  PROPERTY_MIPMAP_LEVEL_BIAS,
  PROPERTY_MIPMAP_LEVEL_CLAMP,
  PROPERTY_BORDER_COLOR,
};

/** The reference of a handle; NULL if it is none of this kind. */
struct reference *reference_find(const void *handle, bool surface);

/** The reference of a name of a module, made at the first question. */
CUresult reference_of(CUmodule handle, const char *name, bool surface, struct reference **reference);

/** A reference of no module that is not published yet; NULL if there is no room. */
struct reference *reference_make(bool surface);

void reference_discard(struct reference *reference);

/** Tells the server of a property that has changed. */
CUresult reference_post(const struct reference *reference, enum reference_property property);

static inline void border_copy(float *to, const float *from) {
  for (int i = 0; i < 4; i++) to[i] = from[i];
}
