// SPDX-License-Identifier: Apache-2.0
// Green contexts: each has a context of its own. A resource has some of 16 multiprocessors.
#include "driver.h"

#include <stdlib.h>
#include <string.h>

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

Result cuDeviceGetDevResource(int device, struct resource *out, int type) {
  if (check_device(device)) return INVALID_DEVICE;
  if (type != 1) return 914;
  memset(out, 0, sizeof *out);
  *out = (struct resource){.type = 1, .own = {(unsigned char)(0xA0 + device)}, .count = 16, .least = 4, .alignment = 2};
  return SUCCESS;
}

Result cuDevSmResourceSplitByCount(struct resource *out, unsigned *groups, const struct resource *in,
                                   struct resource *remaining, unsigned flags, unsigned least) {
  if (in->type != 1 || (in->own[0] & 0xF0) != 0xA0) return 914;
  if (flags > 3 || least > in->count) return INVALID_VALUE;
  unsigned size = least < 4 ? 4 : (least + 1) & ~1u, made = in->count / size;
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
  return SUCCESS;
}

Result cuDevResourceGenerateDesc(struct resource **out, const struct resource *resources, unsigned count) {
  *out = calloc(1, sizeof **out);
  **out = resources[0];
  for (unsigned i = 1; i < count; i++) (*out)->count += resources[i].count;
  return SUCCESS;
}

Result cuGreenCtxCreate(struct green **out, const struct resource *description, int device, unsigned flags) {
  if (flags != 1 || description->own[0] != 0xA0 + device) return INVALID_VALUE;
  *out = calloc(1, sizeof **out);
  (*out)->resource = *description;
  (*out)->context = new_context(device);
  pthread_mutex_lock(&lock);
  (*out)->context->home = primary[device];
  retained[device]++;
  pthread_mutex_unlock(&lock);
  return SUCCESS;
}

Result cuGreenCtxDestroy(struct green *green) { return cuDevicePrimaryCtxRelease_v2(green->context->device); }

Result cuCtxFromGreenCtx(struct context **out, struct green *green) { *out = green->context; return SUCCESS; }

Result cuGreenCtxGetDevResource(struct green *green, struct resource *out, int type) {
  *out = green->resource;
  return type == 1 ? SUCCESS : 914;
}

Result cuCtxGetDevResource(struct context *context, struct resource *out, int type) {
  return cuDeviceGetDevResource(context->device, out, type);
}
