// SPDX-License-Identifier: Apache-2.0
// Disjoint ranges of addresses, found by any address in them: a treap behind a lock.
#pragma once

#include "core/driver.h"
#include "core/lock.h"

struct context;

/** A range of device memory or of page-locked host memory. */
struct range {
  uint64_t base;
  uint64_t bytes;
  struct context *context;
  uint64_t contextId;
  uint64_t id;            // unique in the process
  uint64_t host;          // of RANGE_MAPPED: where the program has it; of RANGE_VIRTUAL: its block; opened: how often
  uint32_t flags;         // of page-locked memory, as asked for
  uint8_t kind;           // enum range_kind
  bool syncMemops;
};

enum range_kind {
  RANGE_ALLOCATED,
  RANGE_ASYNC,
  RANGE_GLOBAL,
  RANGE_GRAPH,       // of a node that allocates
  RANGE_MANAGED,
  RANGE_MAPPED,      // the device's copy of page-locked memory
  RANGE_VIRTUAL,     // a block that the program mapped
  RANGE_OPENED,      // another process's allocation
  RANGE_OPENED_POOL, // the same, from a pool
  RANGE_PINNED,
  RANGE_REGISTERED,
};

struct range_node;

struct ranges {
  struct lock lock;
  struct range_node *_Atomic root;
  uint32_t seed;
};

/** Adds a range; false if there is no memory. What overlaps it before is gone from the table. */
bool ranges_add(struct ranges *ranges, const struct range *range);

/** Returns whether there is none; another thread may be adding one. */
bool ranges_empty(const struct ranges *ranges);

/** Finds the range around an address; false if there is none. */
bool ranges_find(struct ranges *ranges, uint64_t address, struct range *found);

/** Returns whether some range has a byte of these. */
bool ranges_overlap(struct ranges *ranges, uint64_t base, uint64_t bytes);

/** The beginning of the first range at or after an address; `limit` if that is beyond it. */
uint64_t ranges_next(struct ranges *ranges, uint64_t address, uint64_t limit);

/** Takes away the range that begins here; false if there is none. */
bool ranges_remove(struct ranges *ranges, uint64_t base, struct range *removed);

/** Takes away those of a context. */
void ranges_forget(struct ranges *ranges, uint64_t contextId);

/** Changes a range; false if there is none around the address. */
bool ranges_set_sync(struct ranges *ranges, uint64_t address, bool syncMemops);
