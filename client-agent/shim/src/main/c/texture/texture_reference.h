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
