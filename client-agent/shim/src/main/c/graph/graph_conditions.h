// SPDX-License-Identifier: Apache-2.0
// The conditions that conditional nodes go by.
#pragma once

#include "context/context.h"

/** A number for a graph of the worker's. */
uint32_t graph_number(void);

struct condition {
  uint64_t handle;
  bool used;  // a node has it
};

/**
 * The conditions of a graph and of all in it. They belong to a graph of the worker's, in which the
 * nodes have to be put that use them: so there is one executable graph at a time. The graph lock
 * guards it.
 */
struct conditions {
  uint32_t number;  // the worker's of that graph
  uint32_t references;
  struct context *context;
  uint64_t contextId;
  bool busy;  // there is an executable graph
  struct condition *list;
  uint32_t count;
};

/** Drops a reference to conditions, which may be NULL; the last frees them. The caller holds the graph lock. */
void conditions_drop(struct conditions *conditions);
