// SPDX-License-Identifier: Apache-2.0
// Memory that nodes of graphs allocate. It is had from the worker when the node is made, for that is
// when the program learns the address, and given back with the last graph that has the node; in
// between it is only noted whether the program has it. The graph lock guards all of it.
#pragma once

#include "context/context.h"

struct graph;

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

/** An executable graph is made or gone; false if its memory has another already. */
bool graph_memory_claim(const struct graph *graph);
void graph_memory_unclaim(const struct graph *graph);

/** Notes what a launch allocates and frees; CUDA_ERROR_INVALID_VALUE if it must not. */
CUresult graph_memory_launch(const struct graph *graph, bool autoFree);

/** The program frees memory at an address; false if it does not have it. This takes the lock. */
bool graph_memory_free(uint64_t address);

void graph_memory_reset(void);
