// SPDX-License-Identifier: Apache-2.0
// Conditional nodes: graphs that run as the value of a condition says, which kernels set.
#pragma once

#include "graph/graph_conditions.h"
#include "graph/graph_planner.h"

/** CUgraphConditionalNodeType */
enum { CONDITIONAL_IF = 0, CONDITIONAL_WHILE = 1, CONDITIONAL_SWITCH = 2 };

/** A node's work with empty bodies, of a handle that is checked when the node is added. */
CUresult params_conditional(const struct conditional_params *params, struct work *work);

/** Takes the handle of a node's work for a node of a graph; false: it is none, or used. Locked. */
bool conditional_take(struct graph *graph, const struct work *work);

/** Plans the bodies of an executable graph's conditional nodes. As plan_make. */
CUresult conditional_plan(const struct plan *plan, struct graph_node **fault);
