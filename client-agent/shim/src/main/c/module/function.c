// SPDX-License-Identifier: Apache-2.0
#include "module/function.h"

#include "module/function_attributes.h"
#include "module/library.h"
#include "shim.h"

CUresult function_find(CUfunction handle, struct context **context, struct function **function) {
  struct function *found = arena_find(&functions, handle);
  if (LIKELY(found != NULL)) {
    if (UNLIKELY(!*context)) *context = found->context;
    *function = found;
    return found->context->sticky;
  }
  struct kernel *kernel = arena_find(&kernels, handle);
  if (!kernel) return CUDA_ERROR_INVALID_HANDLE;
  return *context ? kernel_function(kernel, *context, function) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult function_number(CUfunction handle, struct context **context, uint32_t *number) {
  struct function *function;
  CUresult result = function_find(handle, context, &function);
  if (!result) *number = function->slot.number;
  return result;
}

/** The function of a handle in the current context, if there is one. */
static CUresult find(CUfunction handle, struct function **function) {
  struct context *context;
  CUresult result = context_or_none(&context);
  return result ? result : function_find(handle, &context, function);
}

CUresult shim_cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc) {
  struct function *function;
  if (!pi) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = find(hfunc, &function);
  return result ? result : function_attribute(function, attrib, pi);
}

CUresult shim_cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
  struct function *function;
  CUresult result = find(hfunc, &function);
  return result ? result : function_set_attribute(function, attrib, value);
}

CUresult shim_cuFuncGetModule(CUmodule *hmod, CUfunction hfunc) {
  struct function *function;
  if (!hmod) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = find(hfunc, &function);
  if (!result) *hmod = (CUmodule)(void *)function->module;
  return result;
}

CUresult shim_cuFuncGetName(const char **name, CUfunction hfunc) {
  struct function *function;
  if (!name) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = find(hfunc, &function);
  if (!result) *name = function->info->name;
  return result;
}

CUresult shim_cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset,
                                 size_t *paramSize) {
  struct function *function;
  CUresult result = find(func, &function);
  if (result) return result;
  if (!paramOffset || paramIndex >= function->info->parameterCount) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *paramOffset = function->info->parameters[paramIndex].offset;
  if (paramSize) *paramSize = function->info->parameters[paramIndex].bytes;
  return CUDA_SUCCESS;
}

CUresult shim_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function) {
  struct function *found;
  if (!state) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = find(function, &found);
  if (!result) *state = 1;
  return result;
}

CUresult shim_cuFuncLoad(CUfunction function) {
  struct function *found;
  return find(function, &found);
}
