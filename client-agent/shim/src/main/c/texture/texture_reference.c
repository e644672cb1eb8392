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

/** The property of a reference that has changed, for the op referenceSet. */
enum property {
  RESOURCE,
  FORMAT,
  ADDRESS_MODE,  // and two more, for the other dimensions
  FILTER_MODE = ADDRESS_MODE + 3,
  FLAGS,
  ANISOTROPY,
  MIPMAP_FILTER_MODE,
  MIPMAP_LEVEL_BIAS,
  MIPMAP_LEVEL_CLAMP,
  BORDER_COLOR,
};

/** Words of a CUDA_TEXTURE_DESC. */
enum {
  WORD_ADDRESS_MODE = 0,
  WORD_FILTER_MODE = 3,
  WORD_FLAGS,
  WORD_ANISOTROPY,
  WORD_MIPMAP_FILTER_MODE,
  WORD_MIPMAP_LEVEL_BIAS,
  WORD_MIPMAP_LEVEL_CLAMP,
  WORD_BORDER_COLOR = 10,
};

enum { DIMENSIONS = 3, BORDER_CHANNELS = 4, MAX_CHANNELS = 4, ADDRESS_MODES = 4, FILTER_MODES = 2 };
enum { OVERRIDE_FORMAT = 1, PARAM_TR_DEFAULT = -1 };

static struct reference *find(const void *handle, bool surface) {
  struct reference *reference = arena_find(&references, handle);
  return reference && reference->surface == surface ? reference : NULL;
}

static void discard(struct reference *reference) {
  char *name = reference->name;
  if (arena_give(&references, reference)) free(name);
}

static void references_forget(struct module *module) {
  for (uint32_t i = 0; i < arena_used(&references); i++) {
    struct reference *reference = arena_at(&references, i);
    if (reference && reference->module == module) discard(reference);
  }
}
ON_MODULE_END(references_forget);

static struct reference *make(bool surface) {
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
  struct reference *reference = make(surface);
  if (!reference) return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult result = context_result(
      context, op_referenceFind(context->number, module->slot.number, name, strlen(name), surface,
                                &reference->value));
  reference->name = result ? NULL : strdup(name);
  if (!result && !reference->name) result = CUDA_ERROR_OUT_OF_MEMORY;
  reference->module = module;
  arena_publish(&references, reference);
  if (result) discard(reference);
  *made = reference;
  return result;
}

static CUresult reference_of(CUmodule handle, const char *name, bool surface,
                             struct reference **reference) {
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

CUresult shim_cuModuleGetTexRef(CUtexref *pTexRef, CUmodule hmod, const char *name) {
  struct reference *reference;
  if (!pTexRef) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = reference_of(hmod, name, false, &reference);
  if (!result) *pTexRef = (CUtexref)(void *)reference;
  return result;
}

CUresult shim_cuModuleGetSurfRef(CUsurfref *pSurfRef, CUmodule hmod, const char *name) {
  struct reference *reference;
  if (!pSurfRef) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = reference_of(hmod, name, true, &reference);
  if (!result) *pSurfRef = (CUsurfref)(void *)reference;
  return result;
}

CUresult shim_cuTexRefCreate(CUtexref *pTexRef) {
  struct context *context;
  if (!pTexRef) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_current(&context);
  if (result) return result;
  struct reference *reference = make(false);
  if (!reference) return CUDA_ERROR_OUT_OF_MEMORY;
  arena_publish(&references, reference);
  *pTexRef = (CUtexref)(void *)reference;
  return CUDA_SUCCESS;
}

CUresult shim_cuTexRefDestroy(CUtexref hTexRef) {
  struct reference *reference = find(hTexRef, false);
  if (!reference || reference->module) return CUDA_ERROR_INVALID_HANDLE;
  discard(reference);
  return CUDA_SUCCESS;
}

/** The bound texture is what the reference names anyway. */
CUresult shim_cuParamSetTexRef(CUfunction hfunc, int texunit, CUtexref hTexRef) {
  if (!arena_find(&functions, hfunc) || !find(hTexRef, false)) return CUDA_ERROR_INVALID_HANDLE;
  return texunit == PARAM_TR_DEFAULT ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Changes

static CUresult post(const struct reference *reference, enum property property) {
  CUDA_RESOURCE_DESC numbered = reference->resource;
  if (!reference->module) return CUDA_SUCCESS;
  bool bound = property == RESOURCE && numbered.resType != RESOURCE_NOTHING;
  CUresult result = bound ? texture_number(&reference->resource, &numbered) : CUDA_SUCCESS;
  if (result) return result;
  return op_referenceSet(reference->module->context->number, reference->value, property,
                         (uint32_t)reference->format, reference->channels,
                         property == RESOURCE ? &numbered : NULL,
                         property == RESOURCE ? sizeof numbered : 0, &reference->texture,
                         sizeof reference->texture);
}

/** Binds what the resource says; format and channels are the reference's from then on. */
static CUresult bind(struct reference *reference, const CUDA_RESOURCE_DESC *resource,
                     CUarray_format format, unsigned int channels) {
  reference->resource = *resource;
  reference->format = format;
  reference->channels = channels;
  return post(reference, RESOURCE);
}

CUresult shim_cuTexRefSetArray(CUtexref hTexRef, CUarray hArray, unsigned int Flags) {
  struct reference *reference = find(hTexRef, false);
  const struct array *array = array_find(hArray);
  if (!reference || !array) return CUDA_ERROR_INVALID_HANDLE;
  if (Flags != OVERRIDE_FORMAT) return CUDA_ERROR_INVALID_VALUE;
  CUDA_RESOURCE_DESC resource = {.resType = RESOURCE_ARRAY, .res.array = hArray};
  return bind(reference, &resource, array->descriptor.Format, array->descriptor.NumChannels);
}

CUresult shim_cuTexRefSetMipmappedArray(CUtexref hTexRef, CUmipmappedArray hMipmappedArray,
                                        unsigned int Flags) {
  struct reference *reference = find(hTexRef, false);
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
  struct reference *reference = find(hTexRef, false);
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
  struct reference *reference = find(hTexRef, false);
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

CUresult shim_cuTexRefSetAddress2D_v2(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR *desc,
                                      CUdeviceptr dptr, size_t Pitch) {
  return shim_cuTexRefSetAddress2D_v3(hTexRef, desc, dptr, Pitch);
}

CUresult shim_cuTexRefSetFormat(CUtexref hTexRef, CUarray_format fmt, int NumPackedComponents) {
  struct reference *reference = find(hTexRef, false);
  if (!reference) return CUDA_ERROR_INVALID_HANDLE;
  bool power = NumPackedComponents == 1 || NumPackedComponents == 2 || NumPackedComponents == MAX_CHANNELS;
  if (!power) return CUDA_ERROR_INVALID_VALUE;
  reference->format = fmt;
  reference->channels = (unsigned int)NumPackedComponents;
  return post(reference, FORMAT);
}

/** Sets a word that is one of so many. */
static CUresult set_word(CUtexref handle, enum property property, int word, unsigned int value,
                         unsigned int values) {
  struct reference *reference = find(handle, false);
  if (!reference) return CUDA_ERROR_INVALID_HANDLE;
  if (value >= values) return CUDA_ERROR_INVALID_VALUE;
  reference->texture.words[word] = (int)value;
  return post(reference, property);
}

static CUresult set_reals(CUtexref handle, enum property property, int word, const float *values,
                          int count) {
  struct reference *reference = find(handle, false);
  if (!reference) return CUDA_ERROR_INVALID_HANDLE;
  memcpy(&reference->texture.words[word], values, (size_t)count * sizeof *values);
  return post(reference, property);
}

CUresult shim_cuTexRefSetAddressMode(CUtexref hTexRef, int dim, CUaddress_mode am) {
  if (dim < 0 || dim >= DIMENSIONS) return CUDA_ERROR_INVALID_VALUE;
  return set_word(hTexRef, ADDRESS_MODE + dim, WORD_ADDRESS_MODE + dim, (unsigned int)am,
                  ADDRESS_MODES);
}

CUresult shim_cuTexRefSetFilterMode(CUtexref hTexRef, CUfilter_mode fm) {
  return set_word(hTexRef, FILTER_MODE, WORD_FILTER_MODE, (unsigned int)fm, FILTER_MODES);
}

CUresult shim_cuTexRefSetMipmapFilterMode(CUtexref hTexRef, CUfilter_mode fm) {
  return set_word(hTexRef, MIPMAP_FILTER_MODE, WORD_MIPMAP_FILTER_MODE, (unsigned int)fm,
                  FILTER_MODES);
}

CUresult shim_cuTexRefSetMaxAnisotropy(CUtexref hTexRef, unsigned int maxAniso) {
  return set_word(hTexRef, ANISOTROPY, WORD_ANISOTROPY, maxAniso, UINT32_MAX);
}

CUresult shim_cuTexRefSetFlags(CUtexref hTexRef, unsigned int Flags) {
  return set_word(hTexRef, FLAGS, WORD_FLAGS, Flags, UINT32_MAX);
}

CUresult shim_cuTexRefSetMipmapLevelBias(CUtexref hTexRef, float bias) {
  return set_reals(hTexRef, MIPMAP_LEVEL_BIAS, WORD_MIPMAP_LEVEL_BIAS, &bias, 1);
}

CUresult shim_cuTexRefSetMipmapLevelClamp(CUtexref hTexRef, float minMipmapLevelClamp,
                                          float maxMipmapLevelClamp) {
  float limits[] = {minMipmapLevelClamp, maxMipmapLevelClamp};
  return set_reals(hTexRef, MIPMAP_LEVEL_CLAMP, WORD_MIPMAP_LEVEL_CLAMP, limits, 2);
}

CUresult shim_cuTexRefSetBorderColor(CUtexref hTexRef, float *pBorderColor) {
  if (!pBorderColor) return CUDA_ERROR_INVALID_VALUE;
  return set_reals(hTexRef, BORDER_COLOR, WORD_BORDER_COLOR, pBorderColor, BORDER_CHANNELS);
}

CUresult shim_cuSurfRefSetArray(CUsurfref hSurfRef, CUarray hArray, unsigned int Flags) {
  struct reference *reference = find(hSurfRef, true);
  const struct array *array = array_find(hArray);
  if (!reference || !array) return CUDA_ERROR_INVALID_HANDLE;
  if (Flags || !(array->descriptor.Flags & ARRAY_SURFACE)) return CUDA_ERROR_INVALID_VALUE;
  reference->resource = (CUDA_RESOURCE_DESC){.resType = RESOURCE_ARRAY, .res.array = hArray};
  return op_surfaceReferenceSet(reference->module->context->number, reference->value,
                                array->slot.number);
}

// Getters

static CUresult get_word(CUtexref handle, int word, int *value) {
  const struct reference *reference = find(handle, false);
  if (!reference) return CUDA_ERROR_INVALID_HANDLE;
  if (!value) return CUDA_ERROR_INVALID_VALUE;
  *value = reference->texture.words[word];
  return CUDA_SUCCESS;
}

static CUresult get_reals(CUtexref handle, int word, float *values, int count) {
  const struct reference *reference = find(handle, false);
  if (!reference) return CUDA_ERROR_INVALID_HANDLE;
  if (!values) return CUDA_ERROR_INVALID_VALUE;
  memcpy(values, &reference->texture.words[word], (size_t)count * sizeof *values);
  return CUDA_SUCCESS;
}

CUresult shim_cuTexRefGetAddress_v2(CUdeviceptr *pdptr, CUtexref hTexRef) {
  const struct reference *reference = find(hTexRef, false);
  if (!reference) return CUDA_ERROR_INVALID_HANDLE;
  int type = reference->resource.resType;
  if (!pdptr || (type != RESOURCE_LINEAR && type != RESOURCE_PITCH2D)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *pdptr = reference->resource.res.linear.address;
  return CUDA_SUCCESS;
}

static CUresult get_array(const struct reference *reference, CUarray *array) {
  if (!reference) return CUDA_ERROR_INVALID_HANDLE;
  if (!array || reference->resource.resType != RESOURCE_ARRAY) return CUDA_ERROR_INVALID_VALUE;
  *array = reference->resource.res.array;
  return CUDA_SUCCESS;
}

CUresult shim_cuTexRefGetArray(CUarray *phArray, CUtexref hTexRef) {
  return get_array(find(hTexRef, false), phArray);
}

CUresult shim_cuSurfRefGetArray(CUarray *phArray, CUsurfref hSurfRef) {
  return get_array(find(hSurfRef, true), phArray);
}

CUresult shim_cuTexRefGetMipmappedArray(CUmipmappedArray *phMipmappedArray, CUtexref hTexRef) {
  const struct reference *reference = find(hTexRef, false);
  if (!reference) return CUDA_ERROR_INVALID_HANDLE;
  if (!phMipmappedArray || reference->resource.resType != RESOURCE_MIPMAPPED_ARRAY) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *phMipmappedArray = reference->resource.res.mipmap;
  return CUDA_SUCCESS;
}

CUresult shim_cuTexRefGetFormat(CUarray_format *pFormat, int *pNumChannels, CUtexref hTexRef) {
  const struct reference *reference = find(hTexRef, false);
  if (!reference) return CUDA_ERROR_INVALID_HANDLE;
  if (!pFormat && !pNumChannels) return CUDA_ERROR_INVALID_VALUE;
  if (pFormat) *pFormat = reference->format;
  if (pNumChannels) *pNumChannels = (int)reference->channels;
  return CUDA_SUCCESS;
}

CUresult shim_cuTexRefGetAddressMode(CUaddress_mode *pam, CUtexref hTexRef, int dim) {
  int mode;
  if (!pam || dim < 0 || dim >= DIMENSIONS) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = get_word(hTexRef, WORD_ADDRESS_MODE + dim, &mode);
  if (!result) *pam = (CUaddress_mode)mode;
  return result;
}

static CUresult get_filter(CUtexref handle, int word, CUfilter_mode *filter) {
  int mode;
  if (!filter) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = get_word(handle, word, &mode);
  if (!result) *filter = (CUfilter_mode)mode;
  return result;
}

CUresult shim_cuTexRefGetFilterMode(CUfilter_mode *pfm, CUtexref hTexRef) {
  return get_filter(hTexRef, WORD_FILTER_MODE, pfm);
}

CUresult shim_cuTexRefGetMipmapFilterMode(CUfilter_mode *pfm, CUtexref hTexRef) {
  return get_filter(hTexRef, WORD_MIPMAP_FILTER_MODE, pfm);
}

CUresult shim_cuTexRefGetMipmapLevelBias(float *pbias, CUtexref hTexRef) {
  return get_reals(hTexRef, WORD_MIPMAP_LEVEL_BIAS, pbias, 1);
}

CUresult shim_cuTexRefGetMipmapLevelClamp(float *pminMipmapLevelClamp, float *pmaxMipmapLevelClamp,
                                          CUtexref hTexRef) {
  float limits[2];
  CUresult result = get_reals(hTexRef, WORD_MIPMAP_LEVEL_CLAMP, limits, 2);
  if (result) return result;
  if (pminMipmapLevelClamp) *pminMipmapLevelClamp = limits[0];
  if (pmaxMipmapLevelClamp) *pmaxMipmapLevelClamp = limits[1];
  return CUDA_SUCCESS;
}

CUresult shim_cuTexRefGetMaxAnisotropy(int *pmaxAniso, CUtexref hTexRef) {
  return get_word(hTexRef, WORD_ANISOTROPY, pmaxAniso);
}

CUresult shim_cuTexRefGetBorderColor(float *pBorderColor, CUtexref hTexRef) {
  return get_reals(hTexRef, WORD_BORDER_COLOR, pBorderColor, BORDER_CHANNELS);
}

CUresult shim_cuTexRefGetFlags(unsigned int *pFlags, CUtexref hTexRef) {
  int flags;
  if (!pFlags) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = get_word(hTexRef, WORD_FLAGS, &flags);
  if (!result) *pFlags = (unsigned int)flags;
  return result;
}
