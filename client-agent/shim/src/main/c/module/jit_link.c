// SPDX-License-Identifier: Apache-2.0
// Linking at run time: the worker gathers the parts; the result is kept here until the state is destroyed.

#include "context/context.h"
#include "core/fork.h"
#include "core/lock.h"
#include "module/image.h"
#include "module/jit_options.h"
#include "ops.h"
#include "shim.h"
#include "transport/marshal.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { READ_BYTES = 256 << 10, MAX_NAME_BYTES = 4096 };

struct linker {
  struct linker *next;
  struct context *context;
  uint64_t contextId;
  uint32_t number;
  struct jit jit;  // its log buffers are the program's until the state is destroyed
  char *output;
};

static struct lock lock;
static struct linker *linkers;  // guarded by the lock
static _Atomic uint32_t lastNumber;

static void linkers_reset(void) {
  lock.word = 0;
  linkers = NULL;
}

ON_FORK(linkers_reset);

/** The linker of a handle if its context lives. */
static CUresult find(CUlinkState state, struct linker **found) {
  CUresult result = CUDA_ERROR_INVALID_HANDLE;
  lock_take(&lock);
  for (struct linker *linker = linkers; linker; linker = linker->next) {
    if (linker != (struct linker *)(void *)state) continue;
    *found = linker;
    bool alive = slot_is_live(&linker->context->slot, &contexts) && linker->context->id == linker->contextId;
    result = alive ? linker->context->sticky : CUDA_ERROR_CONTEXT_IS_DESTROYED;
  }
  lock_release(&lock);
  return result;
}

CUresult shim_cuLinkCreate_v2(unsigned int numOptions, CUjit_option *options, void **optionValues,
                              CUlinkState *stateOut) {
  struct context *context;
  if (!stateOut) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_current(&context);
  if (result) return result;
  struct linker *linker = calloc(1, sizeof *linker);
  if (!linker) return CUDA_ERROR_OUT_OF_MEMORY;
  linker->context = context;
  linker->contextId = context->id;
  linker->number = atomic_fetch_add_explicit(&lastNumber, 1, memory_order_relaxed) + 1;
  result = jit_read(&linker->jit, numOptions, options, optionValues);
  if (!result) {
    result = context_result(
        context, op_linkCreate(context->number, linker->number,
                               linker->jit.count ? linker->jit.values : NULL,
                               linker->jit.count * sizeof(struct jit_value),
                               (uint32_t)linker->jit.infoCapacity, (uint32_t)linker->jit.errorCapacity));
  }
  if (result) {
    free(linker);
    return result;
  }
  lock_take(&lock);
  linker->next = linkers;
  linkers = linker;
  lock_release(&lock);
  *stateOut = (CUlinkState)(void *)linker;
  return CUDA_SUCCESS;
}

CUresult shim_cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
                               const char *name, unsigned int numOptions, CUjit_option *options,
                               void **optionValues) {
  struct linker *linker;
  struct jit jit;
  uint32_t number;
  CUresult result = find(state, &linker);
  if (result) return result;
  if (!data || !size || linker->output) return CUDA_ERROR_INVALID_VALUE;
  result = jit_read(&jit, numOptions, options, optionValues);
  if (result) return result;
  struct image image = {.first = data, .firstBytes = size, .totalBytes = size};
  struct variable info = {.capacity = linker->jit.infoCapacity};
  struct variable error = {.capacity = linker->jit.errorCapacity};
  void *payload = NULL;
  result = image_send(&image, linker->context, &number);
  if (!result) {
    result = context_result(
        linker->context,
        op_linkAdd(linker->context->number, linker->number, (uint32_t)type, number, name ? name : "",
                   name ? strnlen(name, MAX_NAME_BYTES) : 0, jit.count ? jit.values : NULL,
                   jit.count * sizeof(struct jit_value), &info, &error, &payload));
    jit_report(&linker->jit, info.data, info.length, error.data, error.length);
  }
  free(payload);
  image_drop(number, linker->context);
  return result;
}

CUresult shim_cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
                               unsigned int numOptions, CUjit_option *options,
                               void **optionValues) {
  struct linker *linker;
  void *data;
  size_t bytes;
  CUresult result = find(state, &linker);
  if (!result) result = image_read(path, &data, &bytes);
  if (result) return result;
  result = shim_cuLinkAddData_v2(state, type, data, bytes, path, numOptions, options, optionValues);
  free(data);
  return result;
}

/** Fetches the whole result, piece by piece. */
static CUresult fetch(struct linker *linker, char **output, size_t *bytes) {
  CUresult result = CUDA_SUCCESS;
  bool more = true;
  *output = NULL;
  *bytes = 0;
  while (more && !result) {
    struct variable piece = {.capacity = READ_BYTES};
    void *payload = NULL;
    result = op_linkRead(linker->context->number, linker->number, *bytes, &piece, &payload);
    // A zero byte after it, as after a file: it may be taken for text.
    char *longer = result ? NULL : realloc(*output, *bytes + piece.length + 1);
    if (longer) {
      if (piece.length) memcpy(longer + *bytes, piece.data, piece.length);
      *output = longer;
      *bytes += piece.length;
      longer[*bytes] = '\0';
      more = piece.length == READ_BYTES;
    } else if (!result) {
      result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    free(payload);
  }
  if (result) {
    free(*output);
    *output = NULL;
  }
  return result;
}

CUresult shim_cuLinkComplete(CUlinkState state, void **cubinOut, size_t *sizeOut) {
  struct linker *linker;
  CUresult result = find(state, &linker);
  if (result) return result;
  if (!cubinOut || linker->output) return CUDA_ERROR_INVALID_VALUE;
  struct variable info = {.capacity = linker->jit.infoCapacity};
  struct variable error = {.capacity = linker->jit.errorCapacity};
  void *payload;
  result = context_result(linker->context, op_linkComplete(linker->context->number, linker->number, &info,
                                                         &error, &payload));
  jit_report(&linker->jit, info.data, info.length, error.data, error.length);
  free(payload);
  size_t bytes = 0;
  if (!result) result = fetch(linker, &linker->output, &bytes);
  if (result) return result;
  *cubinOut = linker->output;
  if (sizeOut) *sizeOut = bytes;
  return CUDA_SUCCESS;
}

CUresult shim_cuLinkDestroy(CUlinkState state) {
  struct linker *linker;
  CUresult result = find(state, &linker);
  if (result == CUDA_ERROR_INVALID_HANDLE) return result;
  lock_take(&lock);
  for (struct linker **at = &linkers; *at; at = &(*at)->next) {
    if (*at == linker) {
      *at = linker->next;
      break;
    }
  }
  lock_release(&lock);
  if (!result) result = op_linkDestroy(linker->context->number, linker->number);
  free(linker->output);
  free(linker);
  return result == CUDA_ERROR_CONTEXT_IS_DESTROYED ? CUDA_SUCCESS : result;
}
