// SPDX-License-Identifier: Apache-2.0
// Memory that nodes of graphs allocate. The worker allocates it when the node is made, because the program learns the
// address then, and frees it with the last graph that has the node; in between, the shim only records whether the
// program has it. The graph lock guards all of it.
#pragma once

#include "context/context.h"

struct graph_memory {
  struct graph_memory *next;
  uint32_t references;  // of nodes
  uint64_t address, bytes;
  CUdevice device;
  uint16_t contextNumber;
  bool alive;       // allocated by a launch and not freed
  bool executable;  // an executable graph allocates it
};

/** Allocates the memory of a node; waits for the worker, without the graph lock. */
CUresult graph_memory_make(struct context *context, uint64_t bytes, struct graph_memory **made);

// The callers of these functions hold the graph lock.

/** The memory at an address, or NULL. */
struct graph_memory *graph_memory_find(uint64_t address);

/** Drops the reference of a node. */
void graph_memory_drop(struct graph_memory *memory);

/** Records that a launch allocates the memory. */
void graph_memory_come_alive(struct graph_memory *memory);

/** Records that the memory is freed, if a launch had allocated it. */
void graph_memory_give_up(struct graph_memory *memory);
