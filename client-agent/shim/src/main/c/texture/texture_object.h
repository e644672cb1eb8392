// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects. Their values are the backend's, since kernels are given them; what they
// were made of is kept here.
#pragma once

#include "context/context.h"

enum { RESOURCE_NOTHING = -1 };  // beside those of CUresourcetype

/** The descriptions that an object was made from. */
struct texture_object {
  struct texture_object *next;
  struct context *context;
  uint64_t contextId;
  uint64_t value;
  bool surface, hasView;
  CUDA_RESOURCE_DESC resource;
  CUDA_TEXTURE_DESC texture;
  CUDA_RESOURCE_VIEW_DESC view;
};

/** Makes a texture object, or a surface object of which only the resource counts. view may be NULL. */
CUresult texture_create(uint64_t *value, bool surface, const CUDA_RESOURCE_DESC *resource,
                        const CUDA_TEXTURE_DESC *texture, const CUDA_RESOURCE_VIEW_DESC *view);

/** Copies an object of the current context, and takes it out of the table if asked to. */
CUresult texture_find(uint64_t value, bool surface, bool remove, struct texture_object *found);

/** A resource as it travels: handles become numbers. */
CUresult texture_number(const CUDA_RESOURCE_DESC *given, CUDA_RESOURCE_DESC *numbered);
