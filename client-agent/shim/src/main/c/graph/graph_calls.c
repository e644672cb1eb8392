// SPDX-License-Identifier: Apache-2.0
// The entry points that make, copy and destroy graphs and give them references to user objects.
#include "graph/graph.h"
#include "graph/user_object.h"
#include "shim.h"

enum { MOVE = 1 };  // of CUuserObjectRetain_flags

CUresult shim_cuGraphCreate(CUgraph *phGraph, unsigned int flags) {
  if (!phGraph || flags) return CUDA_ERROR_INVALID_VALUE;
  lock_take(&graphLock);
  struct graph *graph = graph_make();
  lock_release(&graphLock);
  *phGraph = (CUgraph)(void *)graph;
  return graph ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult shim_cuGraphDestroy(CUgraph hGraph) {
  lock_take(&graphLock);
  struct graph *graph = graph_find(hGraph);
  // A graph inside another goes with that.
  bool own = graph && !graph->parent && !graph->capturing;
  if (own) graph_free(graph);
  lock_release(&graphLock);
  user_objects_run();
  return own ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult shim_cuGraphClone(CUgraph *phGraphClone, CUgraph originalGraph) {
  if (!phGraphClone) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = CUDA_SUCCESS;
  lock_take(&graphLock);
  struct graph *graph = graph_find(originalGraph);
  if (!graph) {
    result = CUDA_ERROR_INVALID_VALUE;
  } else if (graph->allocates || graph->conditional || graph->conditions) {
    result = CUDA_ERROR_NOT_SUPPORTED;
  } else {
    struct graph *copy = graph_copy(graph);
    *phGraphClone = (CUgraph)(void *)copy;
    if (!copy) result = CUDA_ERROR_OUT_OF_MEMORY;
  }
  lock_release(&graphLock);
  return result;
}

CUresult shim_cuGraphNodeFindInClone(CUgraphNode *phNode, CUgraphNode hOriginalNode,
                                     CUgraph hClonedGraph) {
  if (!phNode) return CUDA_ERROR_INVALID_VALUE;
  lock_take(&graphLock);
  struct graph_node *original = node_find(hOriginalNode);
  struct graph *copy = graph_find(hClonedGraph);
  struct graph_node *node = original && copy ? graph_counterpart(copy, original) : NULL;
  lock_release(&graphLock);
  if (!node) return CUDA_ERROR_INVALID_VALUE;
  *phNode = node_handle(node);
  return CUDA_SUCCESS;
}

CUresult shim_cuGraphDestroyNode(CUgraphNode hNode) {
  lock_take(&graphLock);
  struct graph_node *node = node_find(hNode);
  CUresult result = CUDA_SUCCESS;
  if (!node) {
    result = CUDA_ERROR_INVALID_VALUE;
  } else if (node->graph->allocates || node->graph->capturing) {
    result = CUDA_ERROR_NOT_SUPPORTED;
  } else {
    node_free(node);
  }
  lock_release(&graphLock);
  user_objects_run();
  return result;
}

CUresult shim_cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type) {
  if (!type) return CUDA_ERROR_INVALID_VALUE;
  lock_take(&graphLock);
  struct graph_node *node = node_find(hNode);
  if (node) *type = node->work.type == NODE_COLLECTIVE ? NODE_HOST : node->work.type;
  lock_release(&graphLock);
  return node ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// User objects

CUresult shim_cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
                                      unsigned int flags) {
  if (!count || count > INT32_MAX || flags & ~(unsigned int)MOVE) return CUDA_ERROR_INVALID_VALUE;
  lock_take(&graphLock);
  struct graph *owner = graph_find(graph);
  CUresult result = owner ? user_references_add(&owner->references, object, count, flags & MOVE)
                          : CUDA_ERROR_INVALID_VALUE;
  lock_release(&graphLock);
  return result;
}

CUresult shim_cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count) {
  lock_take(&graphLock);
  struct graph *owner = graph_find(graph);
  bool good = owner && user_references_remove(&owner->references, object, count);
  lock_release(&graphLock);
  user_objects_run();
  return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
