// SPDX-License-Identifier: Apache-2.0
#include "module/function.h"

#include "module/function_attributes.h"
#include "module/library.h"

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

CUresult function_given(CUfunction handle, struct function **function) {
  struct context *context;
  CUresult result = context_or_none(&context);
  return result ? result : function_find(handle, &context, function);
}
