// SPDX-License-Identifier: Apache-2.0
#include "collective/communicator.h"

#include "collective/nccl_error.h"
#include "ops.h"
#include "shim.h"
#include "transport/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ARENA(communicators, communicator, 1 << 14, 0x4e434331);

enum { SHORTEST_PAUSE_NANOS = 200000, LONGEST_PAUSE_NANOS = 5000000 };

static _Atomic uint64_t lastId;

struct communicator *communicator_make(struct context *context) {
  struct communicator *made = arena_take(&communicators);
  if (!made) return NULL;
  made->context = context;
  made->contextId = context->id;
  made->device = context->device;
  made->id = atomic_fetch_add(&lastId, 1) + 1;
  made->state = NCCL_IN_PROGRESS;
  arena_publish(&communicators, made);
  return made;
}

int communicator_find(struct communicator *handle, struct communicator **communicator) {
  *communicator = handle ? arena_find(&communicators, handle) : NULL;
  if (*communicator) return NCCL_SUCCESS;
  return handle ? nccl_fail(NCCL_INVALID_ARGUMENT, "%p is no communicator, or one that was destroyed", (void *)handle)
                : nccl_fail(NCCL_INVALID_ARGUMENT, "the communicator is NULL");
}

/** The state if it is an error, with its text. */
static int known_error(struct communicator *communicator) {
  int state = communicator->state;
  if (state == NCCL_SUCCESS || state == NCCL_IN_PROGRESS) return NCCL_SUCCESS;
  lock_take(&communicator->lock);
  nccl_fail((enum nccl_result)state, "%s", communicator->text);
  lock_release(&communicator->lock);
  return state;
}

int communicator_ready(struct communicator *handle, struct communicator **communicator) {
  int result = communicator_find(handle, communicator);
  if (!result) result = known_error(*communicator);
  if (result || (*communicator)->state == NCCL_SUCCESS) return result;
  result = communicator_ask(*communicator, NULL);
  return result == NCCL_IN_PROGRESS
             ? nccl_fail(NCCL_INVALID_ARGUMENT,
                         "the communicator is used before its initialization is over: ask ncclCommGetAsyncError until "
                         "it is not ncclInProgress")
             : result;
}

CUresult communicator_context(const struct communicator *communicator) {
  const struct context *context = communicator->context;
  if (!slot_is_live(&context->slot, &contexts) || context->id != communicator->contextId) {
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  }
  return context->sticky;
}

/** Fetches what went wrong; the text of `state` alone if the server does not say. */
static void fetch_text(struct communicator *communicator, int state) {
  struct variable text = {.capacity = NCCL_TEXT_BYTES - 1};
  void *payload;
  CUresult result =
      op_communicatorError(communicator->context->number, communicator->slot.number, &text, &payload);
  lock_take(&communicator->lock);
  if (!result && text.length) {
    snprintf(communicator->text, sizeof communicator->text, "%.*s", (int)text.length, (const char *)text.data);
  } else {
    snprintf(communicator->text, sizeof communicator->text, "the communicator has failed (%d)", state);
  }
  lock_release(&communicator->lock);
  free(payload);
}

/** Takes in an error that ends a communicator. */
static int fail_for_good(struct communicator *communicator, int state) {
  lock_take(&communicator->lock);
  snprintf(communicator->text, sizeof communicator->text, "%s", nccl_text());
  lock_release(&communicator->lock);
  communicator->state = state;
  return state;
}

int communicator_ask(struct communicator *communicator, uint64_t *pending) {
  int32_t state = NCCL_IN_PROGRESS;
  uint32_t ranks = 0, rank = 0;
  uint64_t calls = 0;
  if (pending) *pending = 0;
  if (!arena_find(&communicators, communicator)) {
    return nccl_fail(NCCL_INVALID_USAGE, "another thread has destroyed the communicator");
  }
  int result = known_error(communicator);
  if (result) return result;
  CUresult asked = communicator_context(communicator);
  if (!asked) {
    asked = op_communicatorState(communicator->context->number, communicator->slot.number, &state, &ranks, &rank, &calls);
  }
  if (asked) return fail_for_good(communicator, nccl_of(asked, "asking for the state of a communicator"));
  if (pending) *pending = calls;
  if (state == NCCL_SUCCESS) {
    communicator->ranks = ranks;
    communicator->rank = rank;
    communicator->state = state;
  } else if (state != NCCL_IN_PROGRESS) {
    fetch_text(communicator, state);
    communicator->state = state;
    return known_error(communicator);
  }
  return state;
}

void communicator_pause(uint64_t *nanos) {
  if (!*nanos) *nanos = SHORTEST_PAUSE_NANOS;
  struct timespec pause = {.tv_nsec = (long)*nanos};
  nanosleep(&pause, NULL);
  *nanos += *nanos / 2;
  if (*nanos > LONGEST_PAUSE_NANOS) *nanos = LONGEST_PAUSE_NANOS;
}

int communicator_drain(struct communicator *communicator) {
  uint64_t pending, pause = 0;
  for (;;) {
    int result = communicator_ask(communicator, &pending);
    if (result != NCCL_IN_PROGRESS && (result || !pending)) return result;
    communicator_pause(&pause);
  }
}

CUresult communicator_send(const struct communicator *communicator, struct context *context, uint32_t stream,
                           const struct collective_call *calls, uint32_t count) {
  CUresult result = communicator_context(communicator);
  if (result) return result;
  if (!connection_same(context->number, communicator->context->number)) return CUDA_ERROR_NOT_SUPPORTED;
  return op_communicatorCalls(communicator->context->number, communicator->slot.number, stream, calls,
                              (uint64_t)count * sizeof *calls);
}

/** Takes note of the connection that a call needs; returns its word for the server, or -1 if there is no need. */
static int64_t need(const struct communicator *communicator, const struct collective_call *call) {
  bool sends = call->kind == COLLECTIVE_SEND;
  uint8_t bit = sends ? CONNECTED_TO : CONNECTED_FROM;
  bool transfers = sends || call->kind == COLLECTIVE_RECEIVE;
  if (!transfers || call->peer == communicator->rank || communicator->connected[call->peer] & bit) return -1;
  communicator->connected[call->peer] |= bit;
  return (int64_t)call->peer * 2 + !sends;
}

int communicator_connect(struct communicator *communicator, const struct collective_call *calls, uint32_t count,
                         bool *begun) {
  uint32_t *peers = malloc((size_t)count * sizeof *peers), needed = 0;
  lock_take(&communicator->lock);
  if (!communicator->connected) communicator->connected = calloc(communicator->ranks, 1);
  bool memory = peers && communicator->connected;
  for (uint32_t i = 0; i < count && memory; i++) {
    int64_t word = need(communicator, &calls[i]);
    if (word >= 0) peers[needed++] = (uint32_t)word;
  }
  lock_release(&communicator->lock);
  CUresult result = communicator_context(communicator);
  if (!result && needed) {
    result = op_communicatorConnect(communicator->context->number, communicator->slot.number, peers,
                                    (uint64_t)needed * sizeof *peers);
  }
  free(peers);
  *begun = needed > 0;
  if (!memory) return nccl_fail(NCCL_SYSTEM_ERROR, "no memory for the connections of a communicator");
  return nccl_of(result, "connecting ranks");
}

void communicator_end(struct communicator *communicator) {
  struct communicator *child = communicator->child;
  bool lives = !communicator_context(communicator);
  if (child && arena_find(&communicators, child) && child->id == communicator->childId && child->colourless) {
    communicator_end(child);
  }
  if (lives) op_communicatorEnd(communicator->context->number, communicator->slot.number);
  bool releases = communicator->retains && lives;
  CUdevice device = communicator->device;
  struct reduce_operator *operators = communicator->operators;
  uint8_t *connected = communicator->connected;
  if (!arena_give(&communicators, communicator)) return;
  free(operators);
  free(connected);
  if (releases) shim_cuDevicePrimaryCtxRelease_v2(device);
}
