// SPDX-License-Identifier: Apache-2.0
// Memory that nodes of graphs allocate. It is had from the worker when the node is made, for that is
// when the program learns the address, and given back with the last graph that has the node; in
// between it is only noted whether the program has it. The graph lock guards all of it.
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

/** Makes a node's memory; CUDA_ERROR_OUT_OF_MEMORY. Waits for the worker; the lock is not held. */
CUresult graph_memory_make(struct context *context, uint64_t bytes, struct graph_memory **made);

// These want the lock held.

/** The memory at an address, or NULL. */
struct graph_memory *graph_memory_find(uint64_t address);

/** One node less has it. */
void graph_memory_drop(struct graph_memory *memory);

/** A launch allocates the memory. */
void graph_memory_come_alive(struct graph_memory *memory);

/** The memory is freed, if a launch had allocated it. */
void graph_memory_give_up(struct graph_memory *memory);
