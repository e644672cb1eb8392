// SPDX-License-Identifier: Apache-2.0
// Planning of executable graphs.
#pragma once

#include "graph/graph.h"
#include "graph/graph_plan.h"

/**
 * Plans a graph that nobody else knows. *fault is the node that cannot run, if there is one.
 * CUDA_ERROR_INVALID_VALUE: there is a cycle.
 */
CUresult plan_make(struct plan *plan, const struct graph *graph, struct graph_node **fault);

/** The kind of step that some work takes. */
CUresult plan_kind(const struct work *work, enum step_kind *kind);
