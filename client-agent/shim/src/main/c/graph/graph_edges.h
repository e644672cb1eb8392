// SPDX-License-Identifier: Apache-2.0
// The structure of graphs as programs ask for it: at most *room are given out, and the rest of the room becomes NULL;
// without an array, *room becomes how many there are.
#pragma once

#include "core/driver.h"

CUresult graph_list_nodes(CUgraph handle, bool rootsOnly, CUgraphNode *nodes, size_t *room);

/** data may be NULL, if no edge has any. */
CUresult graph_list_edges(CUgraph handle, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data,
                          size_t *room);

/** The nodes that come before a node, or after it. data as for graph_list_edges. */
CUresult node_list_edges(CUgraphNode handle, bool in, CUgraphNode *nodes, CUgraphEdgeData *data,
                         size_t *room);
