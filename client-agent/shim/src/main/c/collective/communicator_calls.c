// SPDX-License-Identifier: Apache-2.0
#include "collective/communicator_calls.h"

#include "collective/group.h"
#include "collective/nccl_error.h"
#include "ops.h"
#include "shim.h"
#include "transport/device_table.h"

/** The current context; without one, the primary context of device 0 becomes current. *retains: so it was retained. */
static CUresult own_context(struct context **context, bool *retains) {
  *retains = false;
  CUresult result = shim_cuInit(0);
  if (!result) result = context_or_none(context);
  if (result || *context) return result;
  CUcontext primary;
  result = shim_cuDevicePrimaryCtxRetain(&primary, 0);
  if (!result) result = shim_cuCtxSetCurrent(primary);
  if (!result) result = context_current(context);
  *retains = !result;
  return result;
}

/** Has the group's end wait for a communicator that the server has begun to make. */
static int add_made(struct communicator *communicator, CUresult begun, struct communicator **made, const char *name) {
  int result = nccl_of(context_result(communicator->context, begun), name);
  if (!result) result = group_add_made(communicator, made);
  if (result) {
    communicator_end(communicator);
  } else if (made) {
    *made = communicator;
  }
  return result;
}

static int join(struct communicator **made, int ranks, const void *id, int rank, bool blocking) {
  static const char name[] = "ncclCommInitRank";
  struct context *context;
  bool retains;
  if (!made || !id) return nccl_fail(NCCL_INVALID_ARGUMENT, "%s: an argument is NULL", name);
  *made = NULL;
  if (ranks < 1 || rank < 0 || rank >= ranks) {
    return nccl_fail(NCCL_INVALID_ARGUMENT, "%s: rank %d of %d ranks", name, rank, ranks);
  }
  int result = nccl_of(own_context(&context, &retains), name);
  if (result) return result;
  struct communicator *communicator = communicator_make(context);
  if (!communicator) return nccl_fail(NCCL_SYSTEM_ERROR, "%s: too many communicators", name);
  communicator->blocking = blocking;
  communicator->retains = retains;
  communicator->ranks = (uint32_t)ranks;
  communicator->rank = (uint32_t)rank;
  CUresult begun = op_communicatorJoin(context->number, communicator->slot.number, (uint32_t)ranks, (uint32_t)rank, id,
                                       NCCL_ID_BYTES);
  return add_made(communicator, begun, made, name);
}

int communicator_join(struct communicator **made, int ranks, const void *id, int rank, enum nccl_blocking blocking) {
  group_begin();
  return group_leave(join(made, ranks, id, rank, blocking != NCCL_NOT_BLOCKING));
}

/** Joins as the rank of a device, in its primary context. */
static int join_device(struct communicator **made, int ranks, const void *id, int rank, int device) {
  static const char name[] = "ncclCommInitAll";
  CUcontext primary, popped;
  int result = nccl_of(shim_cuDevicePrimaryCtxRetain(&primary, device), name);
  if (result) return result;
  result = nccl_of(shim_cuCtxPushCurrent_v2(primary), name);
  if (!result) {
    result = join(made, ranks, id, rank, true);
    shim_cuCtxPopCurrent_v2(&popped);
  }
  if (result) {
    shim_cuDevicePrimaryCtxRelease_v2(device);
  } else {
    (*made)->retains = true;
  }
  return result;
}

static int join_all(struct communicator **made, int count, const int *devices, const void *id) {
  static const char name[] = "ncclCommInitAll";
  if (!made || count < 1) return nccl_fail(NCCL_INVALID_ARGUMENT, "%s: %d devices", name, count);
  int result = nccl_of(shim_cuInit(0), name);
  if (result) return result;
  for (int i = 0; i < count; i++) {
    int device = devices ? devices[i] : i;
    if (!device_find(device)) {
      return nccl_fail(NCCL_INVALID_ARGUMENT, "%s: there is no device %d, only %u", name, device, devices_count());
    }
    for (int j = 0; j < i; j++) {
      if (devices && devices[j] == device) return nccl_fail(NCCL_INVALID_USAGE, "%s: device %d twice", name, device);
    }
  }
  for (int i = 0; i < count && !result; i++) result = join_device(&made[i], count, id, i, devices ? devices[i] : i);
  return result;
}

int communicator_join_all(struct communicator **made, int count, const int *devices, const void *id) {
  group_begin();
  return group_leave(join_all(made, count, devices, id));
}

/** Returns whether a split that the program does not wait for is under way. */
static bool is_splitting(struct communicator *parent) {
  struct communicator *child = parent->child;
  if (!child) return false;
  bool lives = arena_find(&communicators, child) && child->id == parent->childId;
  if (lives && communicator_ask(child, NULL) == NCCL_IN_PROGRESS) return true;
  parent->child = NULL;
  if (lives && child->colourless) communicator_end(child);
  return false;
}

static int split(struct communicator *handle, int color, int key, struct communicator **made,
                 enum nccl_blocking blocking) {
  static const char name[] = "ncclCommSplit";
  struct communicator *parent;
  int result = communicator_ready(handle, &parent);
  if (result) return result;
  if (!made) return nccl_fail(NCCL_INVALID_ARGUMENT, "%s: newcomm is NULL", name);
  *made = NULL;
  if (color < NCCL_NO_COLOUR) return nccl_fail(NCCL_INVALID_ARGUMENT, "%s: color %d", name, color);
  if (is_splitting(parent)) return nccl_fail(NCCL_INVALID_ARGUMENT, "%s: the split before is not over", name);
  result = nccl_of(communicator_context(parent), name);
  if (result) return result;
  struct communicator *child = communicator_make(parent->context);
  if (!child) return nccl_fail(NCCL_SYSTEM_ERROR, "%s: too many communicators", name);
  child->blocking = blocking == NCCL_INHERITED ? parent->blocking : blocking == NCCL_BLOCKING;
  child->colourless = color == NCCL_NO_COLOUR;
  CUresult begun = op_communicatorSplit(parent->context->number, parent->slot.number, child->slot.number, color, key);
  result = add_made(child, begun, child->colourless ? NULL : made, name);
  if (!result && !child->blocking) {
    parent->child = child;
    parent->childId = child->id;
  }
  return result;
}

int communicator_split(struct communicator *handle, int color, int key, struct communicator **made,
                       enum nccl_blocking blocking) {
  group_begin();
  return group_leave(split(handle, color, key, made, blocking));
}

int communicator_finish(struct communicator *handle) {
  struct communicator *communicator;
  int result = communicator_ready(handle, &communicator);
  if (result) return result;
  if (communicator->finished) return nccl_fail(NCCL_INVALID_USAGE, "ncclCommFinalize: it was called before");
  communicator->finished = true;
  return communicator->blocking ? communicator_drain(communicator) : NCCL_IN_PROGRESS;
}

int communicator_destroy(struct communicator *handle) {
  struct communicator *communicator;
  if (!handle) return NCCL_SUCCESS;
  int result = communicator_find(handle, &communicator);
  if (result) return result;
  // What it has done is what counts: an error that it had is no error of its end.
  communicator_drain(communicator);
  communicator_end(communicator);
  return NCCL_SUCCESS;
}

int communicator_abort(struct communicator *handle) {
  struct communicator *communicator;
  if (!handle) return NCCL_SUCCESS;
  int result = communicator_find(handle, &communicator);
  if (result) return result;
  if (!communicator_context(communicator)) {
    op_communicatorAbort(communicator->context->number, communicator->slot.number);
  }
  communicator_end(communicator);
  return NCCL_SUCCESS;
}

int communicator_error(struct communicator *handle, int *error) {
  struct communicator *communicator;
  uint64_t pending;
  int result = communicator_find(handle, &communicator);
  if (result) return result;
  if (!error) return nccl_fail(NCCL_INVALID_ARGUMENT, "ncclCommGetAsyncError: asyncError is NULL");
  *error = communicator_ask(communicator, &pending);
  if (*error) return NCCL_SUCCESS;
  if (is_splitting(communicator) || (communicator->finished && pending)) *error = NCCL_IN_PROGRESS;
  return NCCL_SUCCESS;
}

int communicator_describe(struct communicator *handle, int *ranks, int *rank, int *device) {
  struct communicator *communicator;
  int result = communicator_ready(handle, &communicator);
  if (result) return result;
  if (!ranks && !rank && !device) return nccl_fail(NCCL_INVALID_ARGUMENT, "an argument is NULL");
  if (ranks) *ranks = (int)communicator->ranks;
  if (rank) *rank = (int)communicator->rank;
  if (device) *device = communicator->device;
  return NCCL_SUCCESS;
}

const char *communicator_text(struct communicator *handle) {
  struct communicator *communicator = handle ? arena_find(&communicators, handle) : NULL;
  bool failed = communicator && communicator->state != NCCL_SUCCESS && communicator->state != NCCL_IN_PROGRESS;
  return failed ? communicator->text : nccl_text();
}
