// SPDX-License-Identifier: Apache-2.0
// Green contexts: contexts of their own, with some of the multiprocessors by name alone.
#include "driver.h"

#include <stdlib.h>
#include <string.h>

enum { TYPE_SM = 1, INVALID_RESOURCE_TYPE = 914, LEAST = 8, STEP = 8, OF_DEVICE = 0xa0, AS_DEFAULT_STREAM = 1 };

/** CUdevResource */
struct resource {
  int type;
  unsigned char own[92];
  unsigned count, least, alignment;
  unsigned char more[36];
};

struct green {
  struct context *context;
  struct resource resource;
};

CUresult cuDevicePrimaryCtxRetain(struct context **out, int device);
CUresult cuDevicePrimaryCtxRelease_v2(int device);

API CUresult cuDeviceGetDevResource(int device, struct resource *out, int type) {
  CUresult result = api_begin_device(device);
  if (!result && type != TYPE_SM) result = INVALID_RESOURCE_TYPE;
  if (!result) {
    memset(out, 0, sizeof *out);
    *out = (struct resource){.type = TYPE_SM,
                             .own = {(unsigned char)(OF_DEVICE + device)},
                             .count = options.multiprocessors,
                             .least = LEAST,
                             .alignment = STEP};
  }
  return api_end(result);
}

API CUresult cuDevSmResourceSplitByCount(struct resource *out, unsigned *groups, const struct resource *in,
                                         struct resource *remaining, unsigned flags, unsigned least) {
  if (in->type != TYPE_SM) return INVALID_RESOURCE_TYPE;
  if (flags > 3 || least > in->count) return CUDA_ERROR_INVALID_VALUE;
  unsigned size = least < LEAST ? LEAST : (least + STEP - 1) / STEP * STEP, made = in->count / size;
  if (out && made > *groups) made = *groups;
  *groups = made;
  for (unsigned i = 0; out && i < made; i++) {
    out[i] = *in;
    out[i].own[1] = (unsigned char)(1 + i);
    out[i].count = size;
  }
  if (remaining) {
    *remaining = *in;
    remaining->count -= made * size;
  }
  return CUDA_SUCCESS;
}

API CUresult cuDevResourceGenerateDesc(struct resource **out, const struct resource *resources, unsigned count) {
  if (!count) return CUDA_ERROR_INVALID_VALUE;
  *out = malloc(sizeof **out);
  **out = resources[0];
  for (unsigned i = 1; i < count; i++) (*out)->count += resources[i].count;
  return CUDA_SUCCESS;
}

API CUresult cuGreenCtxCreate(struct green **out, const struct resource *description, int device, unsigned flags) {
  struct context *primary;
  if (flags != AS_DEFAULT_STREAM || description->own[0] != OF_DEVICE + device) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = cuDevicePrimaryCtxRetain(&primary, device);
  if (result) return result;
  pthread_mutex_lock(&modelLock);
  struct green *green = calloc(1, sizeof *green);
  green->resource = *description;
  result = context_new((uint32_t)device, primary, &green->context);
  if (!result) {
    *out = green;
  } else {
    free(green);
  }
  pthread_mutex_unlock(&modelLock);
  if (result) cuDevicePrimaryCtxRelease_v2(device);
  return result;
}

API CUresult cuGreenCtxDestroy(struct green *green) {
  pthread_mutex_lock(&modelLock);
  int device = (int)green->context->device;
  context_end(green->context);
  free(green);
  pthread_mutex_unlock(&modelLock);
  return cuDevicePrimaryCtxRelease_v2(device);
}

API CUresult cuCtxFromGreenCtx(struct context **out, struct green *green) {
  *out = green->context;
  return CUDA_SUCCESS;
}

API CUresult cuGreenCtxGetDevResource(struct green *green, struct resource *out, int type) {
  *out = green->resource;
  return type == TYPE_SM ? CUDA_SUCCESS : INVALID_RESOURCE_TYPE;
}

API CUresult cuCtxGetDevResource(struct context *context, struct resource *out, int type) {
  return cuDeviceGetDevResource((int)context->device, out, type);
}
