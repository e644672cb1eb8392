// SPDX-License-Identifier: Apache-2.0
// Lists of edges. The graph lock guards them.
#pragma once

#include "graph/graph_types.h"
#include "stream/capture_interface.h"

bool edges_add(struct edges *edges, CUgraphNode node, const CUgraphEdgeData *data);

/** Removes an edge; returns whether it was there. data NULL matches any data. */
bool edges_remove(struct edges *edges, CUgraphNode node, const CUgraphEdgeData *data);

bool edges_have(const struct edges *edges, CUgraphNode node);

bool edges_copy(struct edges *to, const struct edges *from);

void edges_clear(struct edges *edges);

/** Returns whether some edge says more than that one node comes after another. */
bool edges_annotated(const struct edges *edges);
