// SPDX-License-Identifier: Apache-2.0
// Linking: of PTX texts, which are put one behind the other, or of one image, which stays as it is.
#include "driver.h"

#include <stdlib.h>
#include <string.h>

enum { INPUT_CUBIN, INPUT_PTX, INPUT_FATBIN };

struct link {
  char *image;
  size_t bytes;
  int inputs, type;
};

API CUresult cuLinkCreate_v2(unsigned count, int *keys, void **values, struct link **out) {
  (void)count; (void)keys; (void)values;
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result) {
    *out = calloc(1, sizeof **out);
    if (!*out) result = CUDA_ERROR_OUT_OF_MEMORY;
  }
  return api_end(result);
}

static CUresult add(struct link *link, int type, const char *data, size_t bytes) {
  if (!data || !bytes || type < INPUT_CUBIN) return CUDA_ERROR_INVALID_VALUE;
  if (type > INPUT_FATBIN || (link->inputs && (type != INPUT_PTX || link->type != INPUT_PTX))) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (type == INPUT_PTX) bytes = strnlen(data, bytes);
  char *image = realloc(link->image, link->bytes + bytes + 2);
  if (!image) return CUDA_ERROR_OUT_OF_MEMORY;
  memcpy(image + link->bytes, data, bytes);
  link->image = image;
  link->bytes += bytes;
  memcpy(image + link->bytes, "\n", 2);
  if (type == INPUT_PTX) link->bytes++;
  link->type = type;
  link->inputs++;
  return CUDA_SUCCESS;
}

API CUresult cuLinkAddData_v2(struct link *link, int type, const void *data, size_t bytes, const char *name,
                              unsigned count, int *keys, void **values) {
  (void)name; (void)count; (void)keys; (void)values;
  struct context *context;
  CUresult result = api_begin(&context);
  return api_end(result ? result : add(link, type, data, bytes));
}

/** The image is the link's, and ends with it. */
API CUresult cuLinkComplete(struct link *link, void **image, size_t *bytes) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result && !link->inputs) result = CUDA_ERROR_INVALID_VALUE;
  if (!result) {
    *image = link->image;
    if (bytes) *bytes = link->bytes + (link->type == INPUT_PTX);
  }
  return api_end(result);
}

API CUresult cuLinkDestroy(struct link *link) {
  free(link->image);
  free(link);
  return CUDA_SUCCESS;
}
