// SPDX-License-Identifier: Apache-2.0
// Nodes of graphs made, asked and changed one by one.
#pragma once

#include "graph/graph_work.h"

/** Adds a node; its work is freed if that fails. data may be NULL. */
CUresult node_add(CUgraphNode *made, CUgraph handle, const CUgraphNode *dependencies,
                  const CUgraphEdgeData *data, size_t count, struct work *work);

/** Gives a node other work of its kind, which is freed if that fails. */
CUresult node_set(CUgraphNode handle, struct work *work);

/** Does the same for a kernel, whose attributes outlive a change of its parameters. */
CUresult node_set_kernel(CUgraphNode handle, struct work *work);

/** Copies the work of a node of a type; the memory that it points to stays the node's. */
CUresult node_work(CUgraphNode handle, int type, struct work *work);
