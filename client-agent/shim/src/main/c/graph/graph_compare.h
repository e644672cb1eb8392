// SPDX-License-Identifier: Apache-2.0
// Whether one graph has the shape of another, so that an executable graph can take over its work.
#pragma once

#include "graph/graph.h"

// CUgraphExecUpdateResult
enum {
  UPDATE_SUCCESS = 0,
  UPDATE_ERROR = 1,
  UPDATE_TOPOLOGY_CHANGED = 2,
  UPDATE_TYPE_CHANGED = 3,
  UPDATE_PARAMETERS_CHANGED = 5,
  UPDATE_NOT_SUPPORTED = 6,
  UPDATE_FUNCTION_CHANGE = 7,
  UPDATE_ATTRIBUTES_CHANGED = 8,
};

struct change {
  struct graph_node *node;
  struct work work;
};

/** The differences, as new work for nodes of the first graph. */
struct changes {
  struct change *list;
  uint32_t count, capacity;
};

/**
 * Compares two graphs as CUDA does: end nodes and dependencies are paired in their order. The graph
 * lock is held. Answers a CUgraphExecUpdateResult; with an error no changes are left.
 */
int graph_compare(struct graph *graph, struct graph *other, struct changes *changes,
                  CUgraphExecUpdateResultInfo *info);

/** Frees what was not taken over. The graph lock is held. */
void changes_free(struct changes *changes);
