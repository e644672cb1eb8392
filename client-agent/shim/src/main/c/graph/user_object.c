// SPDX-License-Identifier: Apache-2.0
#include "graph/user_object.h"

#include "core/fork.h"
#include "graph/graph_lock.h"
#include "shim.h"

#include <stdlib.h>

ARENA(userObjects, user_object, 1 << 18, 0x55534f31);

enum { NO_DESTRUCTOR_SYNC = 1 };

// Guarded by the graph lock, as all references are.
static struct user_object *done;

static void user_objects_reset(void) { done = NULL; }

ON_FORK(user_objects_reset);

/** Gives references back. */
static void release(struct user_object *object, uint64_t count) {
  object->count -= count;
  if (!object->count) {
    object->nextDone = done;
    done = object;
  }
}

bool user_references_copy(struct user_reference **to, const struct user_reference *from) {
  for (; from; from = from->next) {
    struct user_reference *copy = malloc(sizeof *copy);
    if (!copy) return false;
    *copy = (struct user_reference){*to, from->object, from->count};
    copy->object->count += copy->count;
    *to = copy;
  }
  return true;
}

void user_references_drop(struct user_reference **references) {
  while (*references) {
    struct user_reference *reference = *references;
    *references = reference->next;
    release(reference->object, reference->count);
    free(reference);
  }
}

static struct user_reference **find(struct user_reference **references, const struct user_object *object) {
  struct user_reference **at = references;
  while (*at && (*at)->object != object) at = &(*at)->next;
  return at;
}

CUresult user_references_add(struct user_reference **references, CUuserObject handle, unsigned int count, bool move) {
  struct user_object *object = arena_find(&userObjects, handle);
  if (!object) return CUDA_ERROR_INVALID_VALUE;
  struct user_reference **at = find(references, object);
  if (!*at) {
    *at = calloc(1, sizeof **at);
    if (!*at) return CUDA_ERROR_OUT_OF_MEMORY;
    (*at)->object = object;
  }
  (*at)->count += count;
  if (!move) object->count += count;
  return CUDA_SUCCESS;
}

bool user_references_remove(struct user_reference **references, CUuserObject handle, unsigned int count) {
  struct user_object *object = arena_find(&userObjects, handle);
  struct user_reference **at = object ? find(references, object) : NULL;
  if (!at || !*at || !count || count > (*at)->count) return false;
  struct user_reference *reference = *at;
  reference->count -= count;
  if (!reference->count) {
    *at = reference->next;
    free(reference);
  }
  release(object, count);
  return true;
}

void user_objects_run(void) {
  for (;;) {
    lock_take(&graphLock);
    struct user_object *object = done;
    if (object) done = object->nextDone;
    lock_release(&graphLock);
    if (!object) return;
    ((void (*)(void *))object->destroy)(object->pointer);
    arena_give(&userObjects, object);
  }
}

CUresult shim_cuUserObjectCreate(CUuserObject *object_out, void *ptr, CUhostFn destroy,
                                 unsigned int initialRefcount, unsigned int flags) {
  if (!object_out || !destroy || !initialRefcount || initialRefcount > INT32_MAX ||
      flags != NO_DESTRUCTOR_SYNC) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  struct user_object *object = arena_take(&userObjects);
  if (!object) return CUDA_ERROR_OUT_OF_MEMORY;
  object->count = initialRefcount;
  object->destroy = destroy;
  object->pointer = ptr;
  arena_publish(&userObjects, object);
  *object_out = (CUuserObject)(void *)object;
  return CUDA_SUCCESS;
}

CUresult shim_cuUserObjectRetain(CUuserObject object, unsigned int count) {
  if (!count || count > INT32_MAX) return CUDA_ERROR_INVALID_VALUE;
  lock_take(&graphLock);
  struct user_object *found = arena_find(&userObjects, object);
  if (found) found->count += count;
  lock_release(&graphLock);
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult shim_cuUserObjectRelease(CUuserObject object, unsigned int count) {
  lock_take(&graphLock);
  struct user_object *found = arena_find(&userObjects, object);
  bool good = found && count && count <= found->count;
  if (good) release(found, count);
  lock_release(&graphLock);
  user_objects_run();
  return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
