// SPDX-License-Identifier: Apache-2.0
// Executable graphs.
#pragma once

#include "graph/graph_planner.h"

struct event;

struct graph_exec {
  struct slot slot;
  struct lock lock;     // held while it is launched or changed; taken before the graph lock
  struct graph *graph;  // a copy: what launches do
  struct plan plan;
  struct context *context;
  uint64_t contextId;
  uint64_t flags;
  bool mixed;           // the host has a part in it, so that launches are put in order here
  bool launched;
  bool claims;          // it allocates, and no other executable graph does so
  struct event *order;  // of a mixed one: at the end of the latest launch
  uint32_t lastStream;  // of the latest launch
};

struct graph_exec *exec_find(CUgraphExec handle);

/** The node of an executable graph for one of the graph it was made of, or NULL. Locked. */
struct graph_node *exec_node(struct graph_exec *exec, CUgraphNode handle);

/** Has later launches do something else in a node; the work is freed or the node's. Locked. */
CUresult exec_set(struct graph_exec *exec, struct graph_node *node, struct work *work);

/** Does the same as exec_set, for a node of the graph that it was made of. */
CUresult exec_set_node(CUgraphExec hGraphExec, CUgraphNode hNode, struct work *work);
