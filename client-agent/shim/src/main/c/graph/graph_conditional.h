// SPDX-License-Identifier: Apache-2.0
// Conditional nodes: graphs that run as the value of a condition says, which kernels set.
#pragma once

#include "graph/graph_plan.h"

/** CUgraphConditionalNodeType */
enum { CONDITIONAL_IF = 0, CONDITIONAL_WHILE = 1, CONDITIONAL_SWITCH = 2 };

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

/** The graph that a graph is in, at whatever depth; itself if in none. Locked. */
struct graph *graph_root(struct graph *graph);

/** One that has these less; the last sends them away. Locked. NULL: nothing happens. */
void conditions_drop(struct conditions *conditions);

/** A node's work with empty bodies, of a handle that is checked when the node is added. */
CUresult params_conditional(const struct conditional_params *params, struct work *work);

/** Takes the handle of a node's work for a node of a graph; false: it is none, or used. Locked. */
bool conditional_take(struct graph *graph, const struct work *work);

/** Plans the bodies of an executable graph's conditional nodes. As plan_make. */
CUresult conditional_plan(const struct plan *plan, struct graph_node **fault);

/** Whether a graph, or the body of a node of it, is being captured to. Locked. */
bool graph_captures(const struct graph *graph);
