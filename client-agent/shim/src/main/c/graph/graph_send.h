// SPDX-License-Identifier: Apache-2.0
// Graphs on their way to the worker. Record of a node: docs/design/graphs.md.
#pragma once

#include "graph/graph_planner.h"

/**
 * Has the worker make a phase's graph executable, one of its own unless it has a number; *fault is the node that cannot
 * be, if it says so.
 * Waits for the answer.
 */
CUresult send_phase(struct plan *plan, struct phase *phase, struct context *context,
                    uint64_t flags, struct graph_node **fault);

/** Has later launches do something else in a step of a worker's graph. */
CUresult send_work(const struct phase *phase, const struct step *step, const struct work *work,
                   struct context *context);
