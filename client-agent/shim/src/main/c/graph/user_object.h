// SPDX-License-Identifier: Apache-2.0
// User objects: things of the program that graphs keep alive. Their destructors run without any lock.
#pragma once

#include "core/handles.h"

struct user_object {
  struct slot slot;
  uint64_t count;  // of references
  CUhostFn destroy;
  void *pointer;
  struct user_object *nextDone;
};

/** One graph's references to an object. */
struct user_reference {
  struct user_reference *next;
  struct user_object *object;
  unsigned int count;
};

/** Takes the same references once more, one for each count; false: no memory. Graph lock held. */
bool user_references_copy(struct user_reference **to, const struct user_reference *from);

/**
 * Adds references to an object; `move`: they are the caller's until now. CUDA_ERROR_INVALID_VALUE: there is no such
 * object. Graph lock held.
 */
CUresult user_references_add(struct user_reference **references, CUuserObject handle, unsigned int count, bool move);

/** Gives references to an object back; false if there are fewer. The caller holds the graph lock. */
bool user_references_remove(struct user_reference **references, CUuserObject handle, unsigned int count);

/** Gives all references back; destructors wait for user_objects_run. Graph lock held. */
void user_references_drop(struct user_reference **references);

/** Runs the destructors of objects without references. The caller does not hold the graph lock. */
void user_objects_run(void);
