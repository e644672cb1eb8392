// SPDX-License-Identifier: Apache-2.0
#include "memory/array.h"

#include "ops.h"
#include "shim.h"

ARENA(arrays, array, 1 << 18, 0x41525231);

// CUarray_format
enum {
  FORMAT_UNSIGNED_INT8 = 0x01,
  FORMAT_UNSIGNED_INT16 = 0x02,
  FORMAT_UNSIGNED_INT32 = 0x03,
  FORMAT_SIGNED_INT8 = 0x08,
  FORMAT_SIGNED_INT16 = 0x09,
  FORMAT_SIGNED_INT32 = 0x0a,
  FORMAT_HALF = 0x10,
  FORMAT_FLOAT = 0x20,
  FORMAT_UNORM_INT8X1 = 0xc0,
  FORMAT_SNORM_INT16X4 = 0xcb,
};

struct array *array_find(CUarray handle) { return arena_find(&arrays, handle); }

static uint32_t element_bytes(const CUDA_ARRAY3D_DESCRIPTOR *descriptor) {
  switch (descriptor->Format) {
    case FORMAT_UNSIGNED_INT8:
    case FORMAT_SIGNED_INT8:
      return descriptor->NumChannels;
    case FORMAT_UNSIGNED_INT16:
    case FORMAT_SIGNED_INT16:
    case FORMAT_HALF:
      return 2 * descriptor->NumChannels;
    case FORMAT_UNSIGNED_INT32:
    case FORMAT_SIGNED_INT32:
    case FORMAT_FLOAT:
      return 4 * descriptor->NumChannels;
    default:
      break;
  }
  int normalized = descriptor->Format - FORMAT_UNORM_INT8X1;
  if (normalized < 0 || descriptor->Format > FORMAT_SNORM_INT16X4) return 0;
  // Three numbers of channels, in 8 and then 16 bits, unsigned and then signed.
  return 1u << (normalized % 3) << (normalized / 3 % 2);
}

struct array *array_make(struct context *context, const CUDA_ARRAY3D_DESCRIPTOR *descriptor) {
  struct array *array = arena_take(&arrays);
  if (!array) return NULL;
  array->context = context;
  array->descriptor = *descriptor;
  array->elementBytes = element_bytes(descriptor);
  return array;
}

static void discard(struct array *array) {
  arena_publish(&arrays, array);
  arena_give(&arrays, array);
}

static void arrays_forget(struct context *context) {
  for (uint32_t i = 0; i < arena_used(&arrays); i++) {
    struct array *array = arena_at(&arrays, i);
    if (array && array->context == context) arena_give(&arrays, array);
  }
}
ON_CONTEXT_END(memory, arrays_forget);

CUresult shim_cuArray3DCreate_v2(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray) {
  struct context *context;
  if (!pHandle || !pAllocateArray) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_current(&context);
  if (result) return result;
  struct array *array = array_make(context, pAllocateArray);
  if (!array) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUDA_ARRAY3D_DESCRIPTOR *asked = &array->descriptor;
  result = context_result(
      context, op_arrayCreate(context->number, array->slot.number, asked->Width, asked->Height,
                              asked->Depth, (uint32_t)asked->Format, asked->NumChannels,
                              asked->Flags));
  if (result) {
    discard(array);
    return result;
  }
  arena_publish(&arrays, array);
  *pHandle = (CUarray)(void *)array;
  return CUDA_SUCCESS;
}

CUresult shim_cuArrayCreate_v2(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray) {
  if (!pAllocateArray) return CUDA_ERROR_INVALID_VALUE;
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {.Width = pAllocateArray->Width,
                                        .Height = pAllocateArray->Height,
                                        .Format = pAllocateArray->Format,
                                        .NumChannels = pAllocateArray->NumChannels};
  return shim_cuArray3DCreate_v2(pHandle, &descriptor);
}

CUresult array_requirements(struct context *context, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
                            uint32_t number, CUdevice device, array_memory_op *ask,
                            CUDA_ARRAY_MEMORY_REQUIREMENTS *requirements) {
  if (!requirements || device != context->device ||
      !(descriptor->Flags & ARRAY_DEFERRED_MAPPING)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  uint64_t bytes = 0, alignment = 0;
  CUresult result = context_result(context, ask(context->number, number, &bytes, &alignment));
  if (result) return result;
  *requirements = (CUDA_ARRAY_MEMORY_REQUIREMENTS){.size = bytes, .alignment = alignment};
  return CUDA_SUCCESS;
}

// From before CUDA 3.2

CUresult shim_cuArray3DCreate(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR_v1 *pAllocateArray) {
  if (!pAllocateArray) return CUDA_ERROR_INVALID_VALUE;
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {.Width = pAllocateArray->Width,
                                        .Height = pAllocateArray->Height,
                                        .Depth = pAllocateArray->Depth,
                                        .Format = pAllocateArray->Format,
                                        .NumChannels = pAllocateArray->NumChannels,
                                        .Flags = pAllocateArray->Flags};
  return shim_cuArray3DCreate_v2(pHandle, &descriptor);
}

CUresult shim_cuArrayCreate(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR_v1 *pAllocateArray) {
  if (!pAllocateArray) return CUDA_ERROR_INVALID_VALUE;
  CUDA_ARRAY_DESCRIPTOR descriptor = {.Width = pAllocateArray->Width,
                                      .Height = pAllocateArray->Height,
                                      .Format = pAllocateArray->Format,
                                      .NumChannels = pAllocateArray->NumChannels};
  return shim_cuArrayCreate_v2(pHandle, &descriptor);
}

CUresult shim_cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR_v1 *pArrayDescriptor, CUarray hArray) {
  CUDA_ARRAY3D_DESCRIPTOR wide;
  if (!pArrayDescriptor) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = shim_cuArray3DGetDescriptor_v2(&wide, hArray);
  if (result) return result;
  *pArrayDescriptor = (CUDA_ARRAY3D_DESCRIPTOR_v1){.Width = (unsigned int)wide.Width,
                                                   .Height = (unsigned int)wide.Height,
                                                   .Depth = (unsigned int)wide.Depth,
                                                   .Format = wide.Format,
                                                   .NumChannels = wide.NumChannels,
                                                   .Flags = wide.Flags};
  return CUDA_SUCCESS;
}

CUresult shim_cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR_v1 *pArrayDescriptor, CUarray hArray) {
  CUDA_ARRAY_DESCRIPTOR wide;
  if (!pArrayDescriptor) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = shim_cuArrayGetDescriptor_v2(&wide, hArray);
  if (result) return result;
  *pArrayDescriptor = (CUDA_ARRAY_DESCRIPTOR_v1){.Width = (unsigned int)wide.Width,
                                                 .Height = (unsigned int)wide.Height,
                                                 .Format = wide.Format,
                                                 .NumChannels = wide.NumChannels};
  return CUDA_SUCCESS;
}
