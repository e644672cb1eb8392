// SPDX-License-Identifier: Apache-2.0
// Page-locked memory that the worker of its context has mapped, too, because both are on one machine. Copies name a place
// in it in place of carrying its bytes: the GPU reads and writes it itself. See docs/design/shared-memory.md.
#pragma once

#include "context/context.h"

/** A place in a region, as the worker knows it. */
struct shared_place {
  uint32_t region;
  uint64_t offset;
};

/** Allocates whole pages that the context's worker maps; NULL if they cannot be shared, or would not be worth it. */
void *shared_host_allocate(struct context *context, uint64_t bytes);

/** Ends the sharing of memory that was allocated so, of which no copy is under way. */
void shared_host_end(const void *memory);

/** Finds the place of memory that the worker of a context has mapped; false if it has not mapped all of it. */
bool shared_host_find(const struct context *context, const void *memory, uint64_t bytes, struct shared_place *place);

/** Takes note that a copy of this region is in a stream. */
void shared_host_used(const struct shared_place *place);

/** Returns whether copies of this memory may be under way. */
bool shared_host_busy(const void *memory, uint64_t bytes);

/** Forgets that copies were under way: the caller waits for all work now. Returns whether there may be some. */
bool shared_host_settles(const void *memory, uint64_t bytes);
