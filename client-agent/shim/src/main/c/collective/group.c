// SPDX-License-Identifier: Apache-2.0
#include "collective/group.h"

#include "collective/group_send.h"
#include "collective/nccl_error.h"
#include "ops.h"

#include <stdlib.h>
#include <string.h>

/** A communicator that is being made; made: where the program has it, NULL of one without a colour. */
struct making {
  struct communicator *communicator;
  struct communicator **made;
};

struct group {
  uint32_t depth;
  int error;
  struct making *making;
  uint32_t makingCount, makingCapacity;
  struct group_call *calls;
  uint32_t callCount, callCapacity;
};

static _Thread_local struct group own;

void group_begin(void) { own.depth++; }

/** Room for one more; false: no memory. */
static bool make_room(void **list, uint32_t count, uint32_t *capacity, size_t bytes) {
  if (count < *capacity) return true;
  uint32_t more = *capacity ? 2 * *capacity : 16;
  void *grown = realloc(*list, more * bytes);
  if (!grown) return false;
  *list = grown;
  *capacity = more;
  return true;
}

int group_add_made(struct communicator *communicator, struct communicator **made) {
  if (!make_room((void **)&own.making, own.makingCount, &own.makingCapacity, sizeof *own.making)) {
    return nccl_fail(NCCL_SYSTEM_ERROR, "no memory for a group");
  }
  own.making[own.makingCount++] = (struct making){communicator, made};
  return NCCL_SUCCESS;
}

int group_add_call(struct communicator *communicator, CUstream stream, const struct collective_call *call) {
  if (!make_room((void **)&own.calls, own.callCount, &own.callCapacity, sizeof *own.calls)) {
    return nccl_fail(NCCL_SYSTEM_ERROR, "no memory for a group");
  }
  own.calls[own.callCount++] = (struct group_call){communicator, communicator->id, stream, *call};
  return NCCL_SUCCESS;
}

/** Ends all communicators that the group was making. */
static void abandon(struct group *group) {
  for (uint32_t i = 0; i < group->makingCount; i++) {
    struct communicator *communicator = group->making[i].communicator;
    if (!communicator_context(communicator)) {
      op_communicatorAbort(communicator->context->number, communicator->slot.number);
    }
    communicator_end(communicator);
    if (group->making[i].made) *group->making[i].made = NULL;
  }
}

/** Asks for all communicators that the program waits for; *waiting: one of them is not there yet. */
static int ask_all(struct group *group, bool *waiting) {
  *waiting = false;
  for (uint32_t i = 0; i < group->makingCount; i++) {
    struct communicator *communicator = group->making[i].communicator;
    if (!communicator->blocking || communicator->state == NCCL_SUCCESS) continue;
    int result = communicator_ask(communicator, NULL);
    if (result == NCCL_IN_PROGRESS) {
      *waiting = true;
    } else if (result) {
      return result;
    }
  }
  return NCCL_SUCCESS;
}

/** Waits for the communicators of a group; NCCL_IN_PROGRESS: some are made without waiting. */
static int await_made(struct group *group) {
  bool waiting = true, later = false;
  uint64_t pause = 0;
  int result = NCCL_SUCCESS;
  while (!result && waiting) {
    result = ask_all(group, &waiting);
    if (!result && waiting) communicator_pause(&pause);
  }
  if (result) {
    abandon(group);
    return result;
  }
  for (uint32_t i = 0; i < group->makingCount; i++) {
    struct communicator *communicator = group->making[i].communicator;
    later |= !communicator->blocking;
    if (communicator->blocking && communicator->colourless) communicator_end(communicator);
  }
  return later ? NCCL_IN_PROGRESS : NCCL_SUCCESS;
}

int group_end(void) {
  if (!own.depth) return nccl_fail(NCCL_INVALID_USAGE, "ncclGroupEnd without ncclGroupStart");
  if (--own.depth) return NCCL_SUCCESS;
  struct group group = own;
  memset(&own, 0, sizeof own);
  int result = group.error, made = NCCL_SUCCESS;
  if (result) {
    abandon(&group);
  } else {
    made = await_made(&group);
    if (made != NCCL_IN_PROGRESS) result = made;
    if (!result && group.callCount) result = group_send(group.calls, group.callCount);
  }
  free(group.making);
  free(group.calls);
  return result ? result : made;
}

int group_leave(int result) {
  if (result && !own.error) own.error = result;
  int end = group_end();
  return result ? result : end;
}
