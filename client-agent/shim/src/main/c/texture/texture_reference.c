// SPDX-License-Identifier: Apache-2.0
#include "texture/texture_reference.h"

#include "memory/mipmapped_array.h"
#include "ops.h"
#include "shim.h"
#include "texture/texture_object.h"
#include "transport/device_table.h"

#include <stdlib.h>
#include <string.h>

ARENA(references, reference, 1 << 16, 0x52454631);

enum { MAX_CHANNELS = 4, OVERRIDE_FORMAT = 1, PARAM_TR_DEFAULT = -1 };

struct reference *reference_find(const void *handle, bool surface) {
  struct reference *reference = arena_find(&references, handle);
  return reference && reference->surface == surface ? reference : NULL;
}

void reference_discard(struct reference *reference) {
  char *name = reference->name;
  if (arena_give(&references, reference)) free(name);
}

static void references_forget(struct module *module) {
  for (uint32_t i = 0; i < arena_used(&references); i++) {
    struct reference *reference = arena_at(&references, i);
    if (reference && reference->module == module) reference_discard(reference);
  }
}
ON_MODULE_END(references_forget);

struct reference *reference_make(bool surface) {
  struct reference *reference = arena_take(&references);
  if (!reference) return NULL;
  reference->surface = surface;
  reference->resource.resType = RESOURCE_NOTHING;
  return reference;
}

/** The reference of a name if it was asked for before; the module is locked. */
static struct reference *known(const struct module *module, const char *name, bool surface) {
  for (uint32_t i = 0; i < arena_used(&references); i++) {
    struct reference *reference = arena_at(&references, i);
    if (reference && reference->module == module && reference->surface == surface &&
        strcmp(reference->name, name) == 0) {
      return reference;
    }
  }
  return NULL;
}

/** Asks the worker for a reference; the module is locked. */
static CUresult ask_for(struct module *module, const char *name, bool surface,
                        struct reference **made) {
  struct context *context = module->context;
  struct reference *reference = reference_make(surface);
  if (!reference) return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult result = context_result(
      context, op_referenceFind(context->number, module->slot.number, name, strlen(name), surface,
                                &reference->value));
  reference->name = result ? NULL : strdup(name);
  if (!result && !reference->name) result = CUDA_ERROR_OUT_OF_MEMORY;
  reference->module = module;
  arena_publish(&references, reference);
  if (result) reference_discard(reference);
  *made = reference;
  return result;
}

CUresult reference_of(CUmodule handle, const char *name, bool surface, struct reference **reference) {
  struct module *module = arena_find(&modules, handle);
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  if (!name) return CUDA_ERROR_INVALID_VALUE;
  if (!*name) return CUDA_ERROR_NOT_FOUND;
  CUresult result = CUDA_SUCCESS;
  lock_take(&module->lock);
  *reference = known(module, name, surface);
  if (!*reference) result = ask_for(module, name, surface, reference);
  lock_release(&module->lock);
  return result;
}

/** The bound texture is what the reference names anyway. */
CUresult shim_cuParamSetTexRef(CUfunction hfunc, int texunit, CUtexref hTexRef) {
  if (!arena_find(&functions, hfunc) || !reference_find(hTexRef, false)) return CUDA_ERROR_INVALID_HANDLE;
  return texunit == PARAM_TR_DEFAULT ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Changes

CUresult reference_post(const struct reference *reference, enum reference_property property) {
  CUDA_RESOURCE_DESC numbered = reference->resource;
  if (!reference->module) return CUDA_SUCCESS;
  bool bound = property == PROPERTY_RESOURCE && numbered.resType != RESOURCE_NOTHING;
  CUresult result = bound ? texture_number(&reference->resource, &numbered) : CUDA_SUCCESS;
  if (result) return result;
  return op_referenceSet(reference->module->context->number, reference->value, property,
                         (uint32_t)reference->format, reference->channels,
                         property == PROPERTY_RESOURCE ? &numbered : NULL,
                         property == PROPERTY_RESOURCE ? sizeof numbered : 0, &reference->texture,
                         sizeof reference->texture);
}

/** Binds what the resource says; format and channels are the reference's from then on. */
static CUresult bind(struct reference *reference, const CUDA_RESOURCE_DESC *resource,
                     CUarray_format format, unsigned int channels) {
  reference->resource = *resource;
  reference->format = format;
  reference->channels = channels;
  return reference_post(reference, PROPERTY_RESOURCE);
}

CUresult shim_cuTexRefSetArray(CUtexref hTexRef, CUarray hArray, unsigned int Flags) {
  struct reference *reference = reference_find(hTexRef, false);
  const struct array *array = array_find(hArray);
  if (!reference || !array) return CUDA_ERROR_INVALID_HANDLE;
  if (Flags != OVERRIDE_FORMAT) return CUDA_ERROR_INVALID_VALUE;
  CUDA_RESOURCE_DESC resource = {.resType = RESOURCE_ARRAY, .res.array = hArray};
  return bind(reference, &resource, array->descriptor.Format, array->descriptor.NumChannels);
}

CUresult shim_cuTexRefSetMipmappedArray(CUtexref hTexRef, CUmipmappedArray hMipmappedArray,
                                        unsigned int Flags) {
  struct reference *reference = reference_find(hTexRef, false);
  const struct mipmap *mipmap = mipmap_find(hMipmappedArray);
  if (!reference || !mipmap) return CUDA_ERROR_INVALID_HANDLE;
  if (Flags != OVERRIDE_FORMAT) return CUDA_ERROR_INVALID_VALUE;
  CUDA_RESOURCE_DESC resource = {.resType = RESOURCE_MIPMAPPED_ARRAY, .res.mipmap = hMipmappedArray};
  return bind(reference, &resource, mipmap->descriptor.Format, mipmap->descriptor.NumChannels);
}

/** The alignment of the device on which a reference is, or of the current one. */
static CUresult alignment_of(const struct reference *reference, size_t *alignment) {
  struct context *context;
  CUresult result = context_current(&context);
  if (result) return result;
  if (reference->module) context = reference->module->context;
  int32_t bytes = device_attribute(context->device, ATTRIBUTE_TEXTURE_ALIGNMENT);
  *alignment = bytes > 0 ? (size_t)bytes : 1;
  return CUDA_SUCCESS;
}

CUresult shim_cuTexRefSetAddress_v2(size_t *ByteOffset, CUtexref hTexRef, CUdeviceptr dptr,
                                    size_t bytes) {
  struct reference *reference = reference_find(hTexRef, false);
  size_t alignment;
  if (!reference) return CUDA_ERROR_INVALID_HANDLE;
  CUresult result = alignment_of(reference, &alignment);
  if (result) return result;
  size_t offset = dptr % alignment;
  if (offset && !ByteOffset) return CUDA_ERROR_INVALID_VALUE;
  if (ByteOffset) *ByteOffset = offset;
  CUDA_RESOURCE_DESC resource = {.resType = RESOURCE_NOTHING};
  if (dptr) {
    resource.resType = RESOURCE_LINEAR;
    resource.res.linear.address = dptr - offset;
    resource.res.linear.format = reference->format;
    resource.res.linear.channels = reference->channels;
    resource.res.linear.sizeInBytes = bytes + offset;
  }
  return bind(reference, &resource, reference->format, reference->channels);
}

CUresult shim_cuTexRefSetAddress2D_v3(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR *desc,
                                      CUdeviceptr dptr, size_t Pitch) {
  struct reference *reference = reference_find(hTexRef, false);
  size_t alignment;
  if (!reference) return CUDA_ERROR_INVALID_HANDLE;
  if (!desc || !dptr) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = alignment_of(reference, &alignment);
  if (result) return result;
  if (dptr % alignment) return CUDA_ERROR_INVALID_VALUE;
  CUDA_RESOURCE_DESC resource = {.resType = RESOURCE_PITCH2D,
                                 .res.pitch2D = {.address = dptr,
                                                 .format = desc->Format,
                                                 .channels = desc->NumChannels,
                                                 .width = desc->Width,
                                                 .height = desc->Height,
                                                 .pitchInBytes = Pitch}};
  return bind(reference, &resource, desc->Format, desc->NumChannels);
}

CUresult shim_cuTexRefSetFormat(CUtexref hTexRef, CUarray_format fmt, int NumPackedComponents) {
  struct reference *reference = reference_find(hTexRef, false);
  if (!reference) return CUDA_ERROR_INVALID_HANDLE;
  bool power = NumPackedComponents == 1 || NumPackedComponents == 2 || NumPackedComponents == MAX_CHANNELS;
  if (!power) return CUDA_ERROR_INVALID_VALUE;
  reference->format = fmt;
  reference->channels = (unsigned int)NumPackedComponents;
  return reference_post(reference, PROPERTY_FORMAT);
}

CUresult shim_cuSurfRefSetArray(CUsurfref hSurfRef, CUarray hArray, unsigned int Flags) {
  struct reference *reference = reference_find(hSurfRef, true);
  const struct array *array = array_find(hArray);
  if (!reference || !array) return CUDA_ERROR_INVALID_HANDLE;
  if (Flags || !(array->descriptor.Flags & ARRAY_SURFACE)) return CUDA_ERROR_INVALID_VALUE;
  reference->resource = (CUDA_RESOURCE_DESC){.resType = RESOURCE_ARRAY, .res.array = hArray};
  return op_surfaceReferenceSet(reference->module->context->number, reference->value,
                                array->slot.number);
}

CUresult shim_cuTexRefGetAddress_v2(CUdeviceptr *pdptr, CUtexref hTexRef) {
  const struct reference *reference = reference_find(hTexRef, false);
  if (!reference) return CUDA_ERROR_INVALID_HANDLE;
  int type = reference->resource.resType;
  if (!pdptr || (type != RESOURCE_LINEAR && type != RESOURCE_PITCH2D)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *pdptr = reference->resource.res.linear.address;
  return CUDA_SUCCESS;
}
