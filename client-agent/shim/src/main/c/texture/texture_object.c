// SPDX-License-Identifier: Apache-2.0
#include "texture/texture_object.h"

#include "core/fork.h"
#include "memory/mipmapped_array.h"
#include "ops.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 256 };

static struct {
  struct lock lock;
  struct texture_object *buckets[BUCKETS];
} objects;

static struct texture_object **bucket_of(uint64_t value) { return &objects.buckets[value % BUCKETS]; }

static void insert(struct texture_object *object) {
  lock_take(&objects.lock);
  struct texture_object **bucket = bucket_of(object->value);
  object->next = *bucket;
  *bucket = object;
  lock_release(&objects.lock);
}

/** The pointer to an object in the table, or NULL; the table is locked. */
static struct texture_object **locate(const struct context *context, uint64_t value, bool surface) {
  for (struct texture_object **at = bucket_of(value); *at; at = &(*at)->next) {
    const struct texture_object *object = *at;
    if (object->value == value && object->surface == surface &&
        (!context || object->contextId == context->id)) {
      return at;
    }
  }
  return NULL;
}

CUresult texture_find(uint64_t value, bool surface, bool remove, struct texture_object *found) {
  struct context *context;
  CUresult result = context_or_none(&context);
  if (result) return result;
  lock_take(&objects.lock);
  struct texture_object **at = locate(context, value, surface);
  struct texture_object *object = at ? *at : NULL;
  if (object) {
    *found = *object;
    if (remove) *at = object->next;
  }
  lock_release(&objects.lock);
  if (object && remove) free(object);
  return object ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static void textures_forget(struct context *context) {
  lock_take(&objects.lock);
  for (int i = 0; i < BUCKETS; i++) {
    for (struct texture_object **at = &objects.buckets[i]; *at;) {
      struct texture_object *object = *at;
      if (object->contextId == context->id) {
        *at = object->next;
        free(object);
      } else {
        at = &object->next;
      }
    }
  }
  lock_release(&objects.lock);
}
ON_CONTEXT_END(memory, textures_forget);

static void textures_reset(void) { memset(&objects, 0, sizeof objects); }

ON_FORK(textures_reset);

CUresult texture_number(const CUDA_RESOURCE_DESC *given, CUDA_RESOURCE_DESC *numbered) {
  *numbered = *given;
  struct array *array;
  struct mipmap *mipmap;
  switch (given->resType) {
    case RESOURCE_ARRAY:
      array = array_find(given->res.array);
      if (!array) return CUDA_ERROR_INVALID_HANDLE;
      numbered->res.number = array->slot.number;
      return CUDA_SUCCESS;
    case RESOURCE_MIPMAPPED_ARRAY:
      mipmap = mipmap_find(given->res.mipmap);
      if (!mipmap) return CUDA_ERROR_INVALID_HANDLE;
      numbered->res.number = mipmap->slot.number;
      return CUDA_SUCCESS;
    case RESOURCE_LINEAR:
    case RESOURCE_PITCH2D:
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult texture_create(uint64_t *value, bool surface, const CUDA_RESOURCE_DESC *resource,
                        const CUDA_TEXTURE_DESC *texture, const CUDA_RESOURCE_VIEW_DESC *view) {
  CUDA_RESOURCE_DESC numbered;
  struct context *context;
  CUresult result = context_current(&context);
  if (!result) result = texture_number(resource, &numbered);
  if (result) return result;
  struct texture_object *object = calloc(1, sizeof *object);
  if (!object) return CUDA_ERROR_OUT_OF_MEMORY;
  result = surface ? op_surfaceCreate(context->number, &numbered, sizeof numbered, &object->value)
                   : op_textureCreate(context->number, &numbered, sizeof numbered, texture,
                                      sizeof *texture, view, sizeof *view, &object->value);
  result = context_result(context, result);
  if (result) {
    free(object);
    return result;
  }
  object->context = context;
  object->contextId = context->id;
  object->surface = surface;
  object->resource = *resource;
  if (texture) object->texture = *texture;
  object->hasView = view;
  if (view) object->view = *view;
  *value = object->value;
  insert(object);
  return CUDA_SUCCESS;
}
