// SPDX-License-Identifier: Apache-2.0
#include "context/device.h"
#include "module/library.h"
#include "module/module.h"
#include "ops.h"
#include "shim.h"

#include <stdlib.h>
#include <string.h>

// CUfunction_attribute
enum {
  FUNCTION_SHARED_BYTES = 1,
  FUNCTION_MAX_DYNAMIC_SHARED_BYTES = 8,
  FUNCTION_PREFERRED_CARVEOUT = 9,
  FUNCTION_LAST = 16,
};

/** Held while attributes are asked for or set, so that no old answer takes the place of what was set. */
static struct lock attributes;

void functions_reset(void) { attributes.word = 0; }

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

/** Asks for all attributes at once, for the CUDA runtime looks at each; `result`: of the one. */
static CUresult learn(struct function *function, CUfunction_attribute attribute, int32_t *result) {
  struct told {
    int32_t result, value;
  } told = {CUDA_ERROR_INVALID_VALUE, 0};
  struct variable values = {.capacity = CACHED_ATTRIBUTES * sizeof told};
  void *payload;
  uint32_t known = 0, absent = 0;
  CUresult failure = context_result(
      function->context, op_functionGetAttributes(function->context->number, function->slot.number,
                                                  &values, &payload));
  if (failure) return failure;
  *result = CUDA_ERROR_INVALID_VALUE;
  for (uint32_t i = 0; i < CACHED_ATTRIBUTES && (i + 1) * sizeof told <= values.length; i++) {
    memcpy(&told, (const uint8_t *)values.data + i * sizeof told, sizeof told);
    if (!told.result) known |= 1u << i;
    if (!told.result) function->attributes[i] = told.value;
    if (told.result == CUDA_ERROR_INVALID_VALUE) absent |= 1u << i;
    if (i == (uint32_t)attribute) *result = told.result;
  }
  free(payload);
  __atomic_store_n(&function->absent, absent, __ATOMIC_RELEASE);
  __atomic_store_n(&function->cached, known, __ATOMIC_RELEASE);
  return CUDA_SUCCESS;
}

CUresult function_attribute(struct function *function, CUfunction_attribute attribute,
                            int32_t *value) {
  if (attribute < 0 || attribute > FUNCTION_LAST) return CUDA_ERROR_INVALID_VALUE;
  uint32_t bit = 1u << attribute;
  if (UNLIKELY(!(__atomic_load_n(&function->cached, __ATOMIC_ACQUIRE) & bit))) {
    if (__atomic_load_n(&function->absent, __ATOMIC_ACQUIRE) & bit) return CUDA_ERROR_INVALID_VALUE;
    int32_t told = CUDA_SUCCESS;
    lock_take(&attributes);
    CUresult result = learn(function, attribute, &told);
    lock_release(&attributes);
    if (result || told) return result ? result : (CUresult)told;
  }
  *value = function->attributes[attribute];
  return CUDA_SUCCESS;
}

/** Whether so much dynamic shared memory can be had beside the function's own. */
static CUresult check_shared(struct function *function, int32_t value) {
  int32_t own = 0;
  int32_t limit = device_attribute(function->context->device,
                                   ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  if (value < 0) return CUDA_ERROR_INVALID_VALUE;
  if (limit <= 0) return CUDA_SUCCESS;
  CUresult result = function_attribute(function, FUNCTION_SHARED_BYTES, &own);
  if (result) return result;
  return value <= limit - own ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult function_set_attribute(struct function *function, CUfunction_attribute attribute,
                                int32_t value) {
  CUresult result = CUDA_SUCCESS;
  if (attribute < FUNCTION_MAX_DYNAMIC_SHARED_BYTES || attribute > FUNCTION_LAST) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (attribute == FUNCTION_MAX_DYNAMIC_SHARED_BYTES) {
    result = check_shared(function, value);
  } else if (attribute == FUNCTION_PREFERRED_CARVEOUT && (value < -1 || value > 100)) {
    result = CUDA_ERROR_INVALID_VALUE;
  }
  if (result) return result;
  lock_take(&attributes);
  result = op_functionSetAttribute(function->context->number, function->slot.number,
                                   (uint32_t)attribute, value);
  if (attribute == FUNCTION_MAX_DYNAMIC_SHARED_BYTES && !result) {
    // Checked above, so it is what the worker will say; launches ask for it.
    function->attributes[attribute] = value;
    __atomic_fetch_or(&function->cached, 1u << attribute, __ATOMIC_RELEASE);
  } else {
    __atomic_fetch_and(&function->cached, ~(1u << attribute), __ATOMIC_RELEASE);
  }
  lock_release(&attributes);
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
