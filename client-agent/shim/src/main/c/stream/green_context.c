// SPDX-License-Identifier: Apache-2.0
// Green contexts. Each is a part of its GPU's primary context: memory, modules and events are the primary
// context's; streams, the default one too, are its own, and go to the server under its own number.
#include "stream/green_context.h"

#include "core/fork.h"
#include "ops.h"
#include "shim.h"
#include "stream/event.h"
#include "stream/stream.h"
#include "transport/connection.h"
#include "transport/device_table.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_STREAM = 1, MAX_GROUPS = 1024, NO_SPLIT = 0 };

// CUdevResourceType, which a resource begins with, and its room for what only the driver reads
enum { TYPE_SM = 1, NUMBER_OFFSET = 4 };

/** A resource that the server gave; programs have copies of the bytes. */
struct resource {
  CUdevice device;
  uint32_t number;
  uint8_t bytes[CUdevResource_BYTES];
};

/** The object behind a descriptor's handle. The API has no call that ends one. */
struct descriptor {
  struct descriptor *next;
  CUdevice device;
  uint32_t number;
};

static struct {
  struct lock lock;
  struct resource *resources;
  uint32_t count, capacity;
  _Atomic uint32_t lastNumber;
  struct descriptor *descriptors;
} all;

static void greens_reset(void) { memset(&all, 0, sizeof all); }

ON_FORK(greens_reset);

static uint32_t next_numbers(uint32_t count) {
  return atomic_fetch_add_explicit(&all.lastNumber, count, memory_order_relaxed) + 1;
}

/**
 * Keeps a resource and hands it out; `to` may be NULL. Servers give the same bytes for GPUs that are
 * alike: its number tells them apart.
 */
static CUresult hand_out(CUdevice device, uint32_t number, const void *bytes, void *to) {
  struct resource resource = {.device = device, .number = number};
  CUresult result = CUDA_SUCCESS;
  int type;
  memcpy(resource.bytes, bytes, sizeof resource.bytes);
  memcpy(&type, bytes, sizeof type);
  if (type == TYPE_SM) memcpy(resource.bytes + NUMBER_OFFSET, &number, sizeof number);
  lock_take(&all.lock);
  if (all.count == all.capacity) {
    uint32_t capacity = all.capacity ? 2 * all.capacity : 16;
    struct resource *longer = realloc(all.resources, capacity * sizeof *longer);
    if (longer) {
      all.resources = longer;
      all.capacity = capacity;
    } else {
      result = CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  if (!result) all.resources[all.count++] = resource;
  lock_release(&all.lock);
  if (!result && to) memcpy(to, resource.bytes, sizeof resource.bytes);
  return result;
}

/** The resource of which a program has these bytes. */
static CUresult recall(const CUdevResource *given, struct resource *resource) {
  int type;
  memcpy(&type, given, sizeof type);
  if (type != TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  CUresult result = CUDA_ERROR_INVALID_VALUE;
  lock_take(&all.lock);
  for (uint32_t i = all.count; i-- && result;) {
    if (!memcmp(all.resources[i].bytes, given, CUdevResource_BYTES)) {
      *resource = all.resources[i];
      result = CUDA_SUCCESS;
    }
  }
  lock_release(&all.lock);
  return result;
}

/** Hands out what an answer holds. */
static CUresult take(CUresult result, CUdevice device, uint32_t number, const struct variable *answer,
                     void *payload, CUdevResource *resource) {
  if (!result && answer->length != CUdevResource_BYTES) result = CUDA_ERROR_UNKNOWN;
  if (!result) result = hand_out(device, number, answer->data, resource);
  free(payload);
  return result;
}

CUresult shim_cuDeviceGetDevResource(CUdevice device, CUdevResource *resource, CUdevResourceType type) {
  if (!device_find(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (!resource) return CUDA_ERROR_INVALID_VALUE;
  if (type != TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  struct variable answer = {.capacity = CUdevResource_BYTES};
  void *payload = NULL;
  uint32_t number = next_numbers(1);
  CUresult result = op_resourceOfDevice(connection_no_context(device_connection(device)),
                                        device_ordinal(device), number, (uint32_t)type, &answer, &payload);
  return take(result, device, number, &answer, payload, resource);
}

CUresult green_resource(struct context *context, CUdevResource *resource, CUdevResourceType type) {
  if (!resource) return CUDA_ERROR_INVALID_VALUE;
  if (type != TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  struct variable answer = {.capacity = CUdevResource_BYTES};
  void *payload = NULL;
  uint32_t number = next_numbers(1);
  CUresult result = op_resourceOfContext(context->number, number, (uint32_t)type, &answer, &payload);
  return take(context_result(context, result), context->device, number, &answer, payload, resource);
}

/** The number of groups that there would be. */
static CUresult count_groups(const struct resource *input, unsigned int *nbGroups, unsigned int flags,
                             unsigned int minCount) {
  struct variable answer = {.capacity = sizeof(uint64_t)};
  void *payload = NULL;
  CUresult result = op_resourceSplit(connection_no_context(device_connection(input->device)),
                                     input->number, NO_SPLIT, 0, flags, minCount, &answer, &payload);
  if (!result && answer.length != sizeof(uint64_t)) result = CUDA_ERROR_UNKNOWN;
  if (!result) memcpy(nbGroups, answer.data, sizeof *nbGroups);
  free(payload);
  return result;
}

CUresult shim_cuDevSmResourceSplitByCount(CUdevResource *result, unsigned int *nbGroups,
                                          const CUdevResource *input, CUdevResource *remaining,
                                          unsigned int useFlags, unsigned int minCount) {
  struct resource from;
  if (!nbGroups || !input) return CUDA_ERROR_INVALID_VALUE;
  CUresult status = recall(input, &from);
  if (status) return status;
  if (!result) return count_groups(&from, nbGroups, useFlags, minCount);
  uint32_t groups = *nbGroups;
  if (!groups || groups > MAX_GROUPS) return CUDA_ERROR_INVALID_VALUE;
  uint64_t bytes = sizeof(uint64_t) + (groups + 1) * (uint64_t)CUdevResource_BYTES;
  struct variable answer = {.capacity = bytes};
  void *payload = NULL;
  uint32_t first = next_numbers(groups + 1), made = 0;
  status = op_resourceSplit(connection_no_context(device_connection(from.device)), from.number, groups, first, useFlags,
                            minCount, &answer, &payload);
  if (!status && answer.length != bytes) status = CUDA_ERROR_UNKNOWN;
  if (!status) memcpy(&made, answer.data, sizeof made);
  if (made > groups) status = CUDA_ERROR_UNKNOWN;
  for (uint32_t i = 0; i < made && !status; i++) {
    const uint8_t *at = (const uint8_t *)answer.data + sizeof(uint64_t) + (size_t)i * CUdevResource_BYTES;
    status = hand_out(from.device, first + i, at, (uint8_t *)result + (size_t)i * CUdevResource_BYTES);
  }
  if (!status) {
    const uint8_t *rest =
        (const uint8_t *)answer.data + sizeof(uint64_t) + (size_t)groups * CUdevResource_BYTES;
    status = hand_out(from.device, first + groups, rest, remaining);
    *nbGroups = made;
  }
  free(payload);
  return status;
}

CUresult shim_cuDevResourceGenerateDesc(CUdevResourceDesc *phDesc, CUdevResource *resources,
                                        unsigned int nbResources) {
  if (!phDesc || !resources || !nbResources || nbResources > MAX_GROUPS) return CUDA_ERROR_INVALID_VALUE;
  uint32_t *numbers = malloc(nbResources * sizeof *numbers);
  struct descriptor *descriptor = malloc(sizeof *descriptor);
  CUresult result = numbers && descriptor ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  struct resource resource = {0};
  for (unsigned int i = 0; i < nbResources && !result; i++) {
    CUdevice before = resource.device;
    const uint8_t *at = (const uint8_t *)resources + (size_t)i * CUdevResource_BYTES;
    result = recall((const CUdevResource *)(const void *)at, &resource);
    if (!result && i && resource.device != before) result = CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    if (!result) numbers[i] = resource.number;
  }
  if (!result) {
    *descriptor = (struct descriptor){.device = resource.device, .number = next_numbers(1)};
    result = op_resourceDescribe(connection_no_context(device_connection(resource.device)), descriptor->number, numbers,
                                 nbResources * sizeof *numbers);
  }
  free(numbers);
  if (result) {
    free(descriptor);
    return result;
  }
  lock_take(&all.lock);
  descriptor->next = all.descriptors;
  all.descriptors = descriptor;
  lock_release(&all.lock);
  *phDesc = (CUdevResourceDesc)(void *)descriptor;
  return CUDA_SUCCESS;
}

static CUresult find_descriptor(CUdevResourceDesc handle, struct descriptor *found) {
  CUresult result = CUDA_ERROR_INVALID_VALUE;
  lock_take(&all.lock);
  for (struct descriptor *at = all.descriptors; at && result; at = at->next) {
    if ((CUdevResourceDesc)(void *)at != handle) continue;
    *found = *at;
    result = CUDA_SUCCESS;
  }
  lock_release(&all.lock);
  return result;
}

// Green contexts

struct context *green_find(CUgreenCtx handle) {
  struct context *context = arena_find(&contexts, handle);
  return context && context->home != context ? context : NULL;
}

CUresult shim_cuGreenCtxCreate(CUgreenCtx *phCtx, CUdevResourceDesc desc, CUdevice dev, unsigned int flags) {
  struct descriptor descriptor;
  CUcontext primary;
  if (!device_find(dev)) return CUDA_ERROR_INVALID_DEVICE;
  if (!phCtx || flags != DEFAULT_STREAM) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = find_descriptor(desc, &descriptor);
  if (!result && descriptor.device != dev) result = CUDA_ERROR_INVALID_VALUE;
  if (!result) result = shim_cuDevicePrimaryCtxRetain(&primary, dev);
  if (result) return result;
  struct context *green = context_make_green(arena_find(&contexts, primary));
  result = green ? op_greenCreate(green->number, device_ordinal(dev), descriptor.number, flags)
                 : CUDA_ERROR_OUT_OF_MEMORY;
  if (green) arena_publish(&contexts, green);
  if (result) {
    if (green) context_end_green(green);
    shim_cuDevicePrimaryCtxRelease_v2(dev);
    return result;
  }
  *phCtx = (CUgreenCtx)(void *)green;
  return CUDA_SUCCESS;
}

CUresult shim_cuGreenCtxDestroy(CUgreenCtx hCtx) {
  struct context *green = green_find(hCtx);
  if (!green) return CUDA_ERROR_INVALID_CONTEXT;
  CUdevice device = green->device;
  context_before_end(green);
  CUresult result = op_greenDestroy(green->number);
  context_end_green(green);
  CUresult released = shim_cuDevicePrimaryCtxRelease_v2(device);
  return result ? result : released;
}

CUresult shim_cuGreenCtxStreamCreate(CUstream *phStream, CUgreenCtx greenCtx, unsigned int flags, int priority) {
  struct stream *stream;
  struct context *green = green_find(greenCtx);
  if (!green) return CUDA_ERROR_INVALID_CONTEXT;
  if (!phStream || flags != STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = stream_make(green, flags, stream_priority(green, priority), &stream);
  if (!result) *phStream = (CUstream)(void *)stream;
  return result;
}

CUresult shim_cuStreamGetGreenCtx(CUstream hStream, CUgreenCtx *phCtx) {
  struct context *context;
  struct stream *stream;
  if (!phCtx) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = stream_of(hStream, &context, &stream);
  if (result) return result;
  struct context *of = stream ? stream->context : context;
  *phCtx = of->home == of ? NULL : (CUgreenCtx)(void *)of;
  return result;
}

CUresult shim_cuStreamGetCtx_v2(CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx) {
  CUgreenCtx green;
  CUresult result = shim_cuStreamGetGreenCtx(hStream, &green);
  if (!result) result = shim_cuStreamGetCtx(hStream, pCtx);
  if (!result && green) *pCtx = (CUcontext)(void *)green_find(green)->home;
  if (!result && pGreenCtx) *pGreenCtx = green;
  return result;
}
