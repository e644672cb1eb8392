// SPDX-License-Identifier: Apache-2.0
// The structure of graphs: nodes, edges, and changes of edges.
#include "graph/graph_edges.h"

#include "graph/graph.h"
#include "shim.h"

/** Gives out at most *room of some nodes, the rest NULL; without an array, how many there are. */
static CUresult give(const CUgraphNode *nodes, const CUgraphEdgeData *data, size_t count,
                     CUgraphNode *nodesOut, CUgraphEdgeData *dataOut, size_t *room) {
  if (!nodesOut) {
    if (dataOut) return CUDA_ERROR_INVALID_VALUE;
    *room = count;
    return CUDA_SUCCESS;
  }
  size_t given = *room < count ? *room : count;
  for (size_t i = 0; i < *room; i++) {
    nodesOut[i] = i < given ? nodes[i] : NULL;
    if (dataOut) dataOut[i] = i < given ? data[i] : (CUgraphEdgeData){0};
  }
  *room = given;
  return CUDA_SUCCESS;
}

CUresult graph_list_nodes(CUgraph handle, bool rootsOnly, CUgraphNode *nodes, size_t *room) {
  struct edges chosen = {0};
  CUresult result = CUDA_SUCCESS;
  if (!room || (nodes && !*room)) return CUDA_ERROR_INVALID_VALUE;
  lock_take(&graphLock);
  const struct graph *graph = graph_find(handle);
  if (!graph) result = CUDA_ERROR_INVALID_VALUE;
  for (uint32_t i = 0; !result && i < graph->count; i++) {
    struct graph_node *node = graph->nodes[i];
    if (rootsOnly && node->in.count) continue;
    if (!edges_add(&chosen, node_handle(node), NULL)) result = CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (!result) result = give(chosen.nodes, chosen.data, chosen.count, nodes, NULL, room);
  lock_release(&graphLock);
  edges_clear(&chosen);
  return result;
}

/** All edges of a graph, as two lists of the same length. The lock is held. */
static CUresult list_edges(const struct graph *graph, struct edges *from, struct edges *to) {
  for (uint32_t i = 0; i < graph->count; i++) {
    struct graph_node *node = graph->nodes[i];
    for (uint32_t j = 0; j < node->out.count; j++) {
      if (!edges_add(from, node_handle(node), &node->out.data[j]) ||
          !edges_add(to, node->out.nodes[j], &node->out.data[j])) {
        return CUDA_ERROR_OUT_OF_MEMORY;
      }
    }
  }
  return CUDA_SUCCESS;
}

CUresult graph_list_edges(CUgraph handle, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data,
                          size_t *room) {
  struct edges fromEdges = {0}, toEdges = {0};
  if (!room || !from != !to || (data && !from)) return CUDA_ERROR_INVALID_VALUE;
  lock_take(&graphLock);
  const struct graph *graph = graph_find(handle);
  CUresult result =
      graph ? list_edges(graph, &fromEdges, &toEdges) : CUDA_ERROR_INVALID_VALUE;
  if (!result && from && !data && edges_annotated(&fromEdges)) result = CUDA_ERROR_LOSSY_QUERY;
  size_t roomTo = room ? *room : 0;
  if (!result) {
    result = give(fromEdges.nodes, fromEdges.data, fromEdges.count, from, data, room);
  }
  if (!result) {
    result = give(toEdges.nodes, toEdges.data, toEdges.count, to, NULL, &roomTo);
  }
  lock_release(&graphLock);
  edges_clear(&fromEdges);
  edges_clear(&toEdges);
  return result;
}

CUresult node_list_edges(CUgraphNode handle, bool in, CUgraphNode *nodes, CUgraphEdgeData *data,
                         size_t *room) {
  if (!room) return CUDA_ERROR_INVALID_VALUE;
  lock_take(&graphLock);
  const struct graph_node *node = node_find(handle);
  const struct edges *side = !node ? NULL : in ? &node->in : &node->out;
  CUresult result = CUDA_ERROR_INVALID_VALUE;
  if (side && nodes && !data && edges_annotated(side)) {
    result = CUDA_ERROR_LOSSY_QUERY;
  } else if (side) {
    result = give(side->nodes, side->data, side->count, nodes, data, room);
  }
  lock_release(&graphLock);
  return result;
}

/** Both ends of an edge within a graph, or false. The lock is held. */
static bool ends(const struct graph *graph, CUgraphNode from, CUgraphNode to,
                 struct graph_node **fromNode, struct graph_node **toNode) {
  *fromNode = node_find(from);
  *toNode = node_find(to);
  return graph && *fromNode && *toNode && *fromNode != *toNode && (*fromNode)->graph == graph &&
         (*toNode)->graph == graph;
}

CUresult shim_cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode *from,
                                        const CUgraphNode *to, const CUgraphEdgeData *edgeData,
                                        size_t numDependencies) {
  CUresult result = CUDA_SUCCESS;
  if (numDependencies && (!from || !to)) return CUDA_ERROR_INVALID_VALUE;
  lock_take(&graphLock);
  struct graph *graph = graph_find(hGraph);
  if (!graph) result = CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < numDependencies && !result; i++) {
    struct graph_node *before, *after;
    const CUgraphEdgeData *data = edgeData ? &edgeData[i] : NULL;
    if (!ends(graph, from[i], to[i], &before, &after) || edges_have(&before->out, to[i])) {
      result = CUDA_ERROR_INVALID_VALUE;
    } else if (!edges_add(&before->out, to[i], data) || !edges_add(&after->in, from[i], data)) {
      edges_remove(&before->out, to[i], NULL);
      result = CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  lock_release(&graphLock);
  return result;
}

CUresult shim_cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode *from,
                                           const CUgraphNode *to, const CUgraphEdgeData *edgeData,
                                           size_t numDependencies) {
  CUresult result = CUDA_SUCCESS;
  if (numDependencies && (!from || !to)) return CUDA_ERROR_INVALID_VALUE;
  lock_take(&graphLock);
  struct graph *graph = graph_find(hGraph);
  if (!graph) result = CUDA_ERROR_INVALID_VALUE;
  // The edges of what allocates and frees stay.
  if (graph && graph->allocates) result = CUDA_ERROR_NOT_SUPPORTED;
  for (size_t i = 0; i < numDependencies && !result; i++) {
    struct graph_node *before, *after;
    const CUgraphEdgeData *data = edgeData ? &edgeData[i] : NULL;
    if (!ends(graph, from[i], to[i], &before, &after) ||
        !edges_remove(&before->out, to[i], data) || !edges_remove(&after->in, from[i], NULL)) {
      result = CUDA_ERROR_INVALID_VALUE;
    }
  }
  lock_release(&graphLock);
  return result;
}
