// SPDX-License-Identifier: Apache-2.0
#include "link.h"

#include "context.h"
#include "image.h"
#include "jit.h"
#include "lock.h"
#include "marshal.h"
#include "ops.h"
#include "shim.h"

#include <stdlib.h>
#include <string.h>

enum { READ_BYTES = 256 << 10, MAX_NAME_BYTES = 4096 };

struct link {
  struct link *next;
  struct context *context;
  uint64_t contextId;
  uint32_t number;
  struct jit jit;  // its log buffers are the program's until the state is destroyed
  char *output;
};

static struct lock lock;
static struct link *links;  // guarded by the lock
static uint32_t lastNumber;

void links_reset(void) {
  lock.word = 0;
  links = NULL;
}

/** The link of a handle if its context lives. */
static CUresult find(CUlinkState state, struct link **found) {
  CUresult result = CUDA_ERROR_INVALID_HANDLE;
  lock_take(&lock);
  for (struct link *link = links; link; link = link->next) {
    if (link != (struct link *)(void *)state) continue;
    *found = link;
    bool alive = link->context->slot.live == contexts.mark && link->context->id == link->contextId;
    result = alive ? link->context->sticky : CUDA_ERROR_CONTEXT_IS_DESTROYED;
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
  struct link *link = calloc(1, sizeof *link);
  if (!link) return CUDA_ERROR_OUT_OF_MEMORY;
  link->context = context;
  link->contextId = context->id;
  link->number = __atomic_add_fetch(&lastNumber, 1, __ATOMIC_RELAXED);
  result = jit_read(&link->jit, numOptions, options, optionValues);
  if (!result) {
    result = context_result(
        context, op_linkCreate(context->number, link->number,
                               link->jit.count ? link->jit.values : NULL,
                               link->jit.count * sizeof(struct jit_value),
                               (uint32_t)link->jit.infoCapacity, (uint32_t)link->jit.errorCapacity));
  }
  if (result) {
    free(link);
    return result;
  }
  lock_take(&lock);
  link->next = links;
  links = link;
  lock_release(&lock);
  *stateOut = (CUlinkState)(void *)link;
  return CUDA_SUCCESS;
}

CUresult shim_cuLinkCreate(unsigned int numOptions, CUjit_option *options, void **optionValues,
                           CUlinkState *stateOut) {
  return shim_cuLinkCreate_v2(numOptions, options, optionValues, stateOut);
}

CUresult shim_cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
                               const char *name, unsigned int numOptions, CUjit_option *options,
                               void **optionValues) {
  struct link *link;
  struct jit jit;
  uint32_t number;
  CUresult result = find(state, &link);
  if (result) return result;
  if (!data || !size || link->output) return CUDA_ERROR_INVALID_VALUE;
  result = jit_read(&jit, numOptions, options, optionValues);
  if (result) return result;
  struct image image = {.first = data, .firstBytes = size, .totalBytes = size};
  struct variable info = {.capacity = link->jit.infoCapacity};
  struct variable error = {.capacity = link->jit.errorCapacity};
  void *payload = NULL;
  result = image_send(&image, &number);
  if (!result) {
    result = context_result(
        link->context,
        op_linkAdd(link->context->number, link->number, (uint32_t)type, number, name ? name : "",
                   name ? strnlen(name, MAX_NAME_BYTES) : 0, jit.count ? jit.values : NULL,
                   jit.count * sizeof(struct jit_value), &info, &error, &payload));
    jit_report(&link->jit, info.data, info.length, error.data, error.length);
  }
  free(payload);
  image_drop(number);
  return result;
}

CUresult shim_cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
                            const char *name, unsigned int numOptions, CUjit_option *options,
                            void **optionValues) {
  return shim_cuLinkAddData_v2(state, type, data, size, name, numOptions, options, optionValues);
}

CUresult shim_cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
                               unsigned int numOptions, CUjit_option *options,
                               void **optionValues) {
  struct link *link;
  void *data;
  size_t bytes;
  CUresult result = find(state, &link);
  if (!result) result = image_read(path, &data, &bytes);
  if (result) return result;
  result = shim_cuLinkAddData_v2(state, type, data, bytes, path, numOptions, options, optionValues);
  free(data);
  return result;
}

CUresult shim_cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path,
                            unsigned int numOptions, CUjit_option *options, void **optionValues) {
  return shim_cuLinkAddFile_v2(state, type, path, numOptions, options, optionValues);
}

/** Fetches the whole result, piece by piece. */
static CUresult fetch(struct link *link, char **output, size_t *bytes) {
  CUresult result = CUDA_SUCCESS;
  bool more = true;
  *output = NULL;
  *bytes = 0;
  while (more && !result) {
    struct variable piece = {.capacity = READ_BYTES};
    void *payload = NULL;
    result = op_linkRead(link->context->number, link->number, *bytes, &piece, &payload);
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
  struct link *link;
  CUresult result = find(state, &link);
  if (result) return result;
  if (!cubinOut || link->output) return CUDA_ERROR_INVALID_VALUE;
  struct variable info = {.capacity = link->jit.infoCapacity};
  struct variable error = {.capacity = link->jit.errorCapacity};
  void *payload;
  result = context_result(link->context, op_linkComplete(link->context->number, link->number, &info,
                                                         &error, &payload));
  jit_report(&link->jit, info.data, info.length, error.data, error.length);
  free(payload);
  size_t bytes = 0;
  if (!result) result = fetch(link, &link->output, &bytes);
  if (result) return result;
  *cubinOut = link->output;
  if (sizeOut) *sizeOut = bytes;
  return CUDA_SUCCESS;
}

CUresult shim_cuLinkDestroy(CUlinkState state) {
  struct link *link;
  CUresult result = find(state, &link);
  if (result == CUDA_ERROR_INVALID_HANDLE) return result;
  lock_take(&lock);
  for (struct link **at = &links; *at; at = &(*at)->next) {
    if (*at == link) {
      *at = link->next;
      break;
    }
  }
  lock_release(&lock);
  if (!result) result = op_linkDestroy(link->context->number, link->number);
  free(link->output);
  free(link);
  return result == CUDA_ERROR_CONTEXT_IS_DESTROYED ? CUDA_SUCCESS : result;
}
