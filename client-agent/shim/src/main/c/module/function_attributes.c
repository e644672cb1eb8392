// SPDX-License-Identifier: Apache-2.0
#include "module/function_attributes.h"

#include "core/fork.h"
#include "module/known_occupancy.h"
#include "ops.h"
#include "transport/device_table.h"

#include <stdatomic.h>
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

static void functions_reset(void) { attributes.word = 0; }

ON_FORK(functions_reset);

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
  atomic_store_explicit(&function->absent, absent, memory_order_release);
  atomic_store_explicit(&function->cached, known, memory_order_release);
  return CUDA_SUCCESS;
}

CUresult function_attribute(struct function *function, CUfunction_attribute attribute,
                            int32_t *value) {
  if (attribute < 0 || attribute > FUNCTION_LAST) return CUDA_ERROR_INVALID_VALUE;
  uint32_t bit = 1u << attribute;
  if (UNLIKELY(!(atomic_load_explicit(&function->cached, memory_order_acquire) & bit))) {
    if (atomic_load_explicit(&function->absent, memory_order_acquire) & bit) return CUDA_ERROR_INVALID_VALUE;
    int32_t told = CUDA_SUCCESS;
    lock_take(&attributes);
    CUresult result = learn(function, attribute, &told);
    lock_release(&attributes);
    if (result || told) return result ? result : (CUresult)told;
  }
  *value = function->attributes[attribute];
  return CUDA_SUCCESS;
}

/** Returns whether so much dynamic shared memory can be had beside the function's own. */
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
  known_occupancy_forget(function);
  lock_take(&attributes);
  result = op_functionSetAttribute(function->context->number, function->slot.number,
                                   (uint32_t)attribute, value);
  if (attribute == FUNCTION_MAX_DYNAMIC_SHARED_BYTES && !result) {
    // Checked above, so it is what the worker will say; launches ask for it.
    function->attributes[attribute] = value;
    atomic_fetch_or_explicit(&function->cached, 1u << attribute, memory_order_release);
  } else {
    atomic_fetch_and_explicit(&function->cached, ~(1u << attribute), memory_order_release);
  }
  lock_release(&attributes);
  return result;
}
