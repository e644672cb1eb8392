// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include "graph/graph_conditional.h"
#include "shim.h"
#include "graph/user_object.h"

#include <stdlib.h>
#include <string.h>

struct lock graphLock;

static struct {
  uint64_t lastId;
  uint64_t lastStamp;
} all;

void graphs_reset(void) {
  graphLock.word = 0;
  memset(&all, 0, sizeof all);
}

uint64_t graph_stamp(void) { return ++all.lastStamp; }

struct graph *graph_find(CUgraph handle) { return arena_find(&graphs, handle); }

struct graph_node *node_find(CUgraphNode handle) { return arena_find(&graphNodes, handle); }

// Edges

bool edges_add(struct edges *edges, CUgraphNode node, const CUgraphEdgeData *data) {
  if (edges->count == edges->capacity) {
    uint32_t capacity = edges->capacity ? 2 * edges->capacity : 4;
    CUgraphNode *nodes = realloc(edges->nodes, capacity * sizeof *nodes);
    if (!nodes) return false;
    edges->nodes = nodes;
    CUgraphEdgeData *list = realloc(edges->data, capacity * sizeof *list);
    if (!list) return false;
    edges->data = list;
    edges->capacity = capacity;
  }
  edges->nodes[edges->count] = node;
  edges->data[edges->count++] = data ? *data : (CUgraphEdgeData){0};
  return true;
}

static uint32_t edges_index(const struct edges *edges, CUgraphNode node) {
  uint32_t i = 0;
  while (i < edges->count && edges->nodes[i] != node) i++;
  return i;
}

bool edges_have(const struct edges *edges, CUgraphNode node) {
  return edges_index(edges, node) < edges->count;
}

bool edges_remove(struct edges *edges, CUgraphNode node, const CUgraphEdgeData *data) {
  uint32_t i = edges_index(edges, node);
  if (i == edges->count || (data && memcmp(data, &edges->data[i], sizeof *data) != 0)) return false;
  edges->count--;
  memmove(edges->nodes + i, edges->nodes + i + 1, (edges->count - i) * sizeof *edges->nodes);
  memmove(edges->data + i, edges->data + i + 1, (edges->count - i) * sizeof *edges->data);
  return true;
}

void edges_clear(struct edges *edges) {
  free(edges->nodes);
  free(edges->data);
  *edges = (struct edges){0};
}

bool edges_copy(struct edges *to, const struct edges *from) {
  struct edges copy = {0};
  for (uint32_t i = 0; i < from->count; i++) {
    if (!edges_add(&copy, from->nodes[i], &from->data[i])) {
      edges_clear(&copy);
      return false;
    }
  }
  edges_clear(to);
  *to = copy;
  return true;
}

bool edges_annotated(const struct edges *edges) {
  static const CUgraphEdgeData none;
  for (uint32_t i = 0; i < edges->count; i++) {
    if (memcmp(&edges->data[i], &none, sizeof none) != 0) return true;
  }
  return false;
}

// Nodes

static bool append(struct graph *graph, struct graph_node *node) {
  if (graph->count == graph->capacity) {
    uint32_t capacity = graph->capacity ? 2 * graph->capacity : 16;
    struct graph_node **nodes = realloc(graph->nodes, capacity * sizeof *nodes);
    if (!nodes) return false;
    graph->nodes = nodes;
    graph->capacity = capacity;
  }
  graph->nodes[graph->count++] = node;
  return true;
}

/** A node without edges; its work is the graph's from now on. */
static struct graph_node *make_node(struct graph *graph, const struct work *work) {
  struct graph_node *node = arena_take(&graphNodes);
  if (!node) return NULL;
  node->graph = graph;
  node->id = ++all.lastId;
  node->work = *work;
  if (!append(graph, node)) {
    arena_publish(&graphNodes, node);
    arena_give(&graphNodes, node);
    return NULL;
  }
  if (work->type == NODE_CHILD) work->child->parent = node;
  if (work->type == NODE_CONDITIONAL) {
    graph->conditional = true;
    for (unsigned int i = 0; i < work->conditional.count; i++) {
      work->conditional.bodies[i]->parent = node;
    }
  }
  if (work->type == NODE_MEM_ALLOC || work->type == NODE_MEM_FREE) graph->allocates = true;
  arena_publish(&graphNodes, node);
  return node;
}

/** Everything of a node but its place in the graph and the other ends of its edges. */
static void discard(struct graph_node *node) {
  edges_clear(&node->in);
  edges_clear(&node->out);
  work_clear(&node->work);
  arena_give(&graphNodes, node);
}

void node_free(struct graph_node *node) {
  struct graph *graph = node->graph;
  for (uint32_t i = 0; i < node->in.count; i++) {
    edges_remove(&node_at(&node->in, i)->out, node_handle(node), NULL);
  }
  for (uint32_t i = 0; i < node->out.count; i++) {
    edges_remove(&node_at(&node->out, i)->in, node_handle(node), NULL);
  }
  uint32_t at = 0;
  while (graph->nodes[at] != node) at++;
  graph->count--;
  memmove(graph->nodes + at, graph->nodes + at + 1, (graph->count - at) * sizeof *graph->nodes);
  discard(node);
}

/** Whether these are different nodes of this graph. */
static bool good_dependencies(const struct graph *graph, const CUgraphNode *dependencies,
                              size_t count) {
  uint64_t stamp = graph_stamp();
  if (count && !dependencies) return false;
  for (size_t i = 0; i < count; i++) {
    struct graph_node *node = node_find(dependencies[i]);
    if (!node || node->graph != graph || node->mark == stamp) return false;
    node->mark = stamp;
  }
  return true;
}

static bool link_nodes(struct graph_node *from, struct graph_node *to,
                       const CUgraphEdgeData *data) {
  if (!edges_add(&from->out, node_handle(to), data)) return false;
  if (edges_add(&to->in, node_handle(from), data)) return true;
  edges_remove(&from->out, node_handle(to), NULL);
  return false;
}

CUresult graph_add(struct graph *graph, const CUgraphNode *dependencies,
                   const CUgraphEdgeData *data, size_t count, struct work *work,
                   struct graph_node **made) {
  if (!good_dependencies(graph, dependencies, count)) return CUDA_ERROR_INVALID_VALUE;
  struct graph_node *node = make_node(graph, work);
  if (!node) return CUDA_ERROR_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; i++) {
    if (!link_nodes(node_find(dependencies[i]), node, data ? &data[i] : NULL)) {
      node->work.type = NODE_EMPTY;  // the work stays the caller's
      node_free(node);
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  *made = node;
  return CUDA_SUCCESS;
}

// Graphs

struct graph *graph_make(void) {
  struct graph *graph = arena_take(&graphs);
  if (graph) arena_publish(&graphs, graph);
  return graph;
}

void graph_free(struct graph *graph) {
  for (uint32_t i = 0; i < graph->count; i++) discard(graph->nodes[i]);
  free(graph->nodes);
  if (graph->plan) plan_free(graph->plan);
  free(graph->plan);
  conditions_drop(graph->conditions);
  user_references_drop(&graph->references);
  arena_give(&graphs, graph);
}

/** The node made of another in a copy, by its place. */
static struct graph_node *twin(const struct graph *copy, const struct graph_node *original) {
  uint32_t low = 0, high = copy->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (copy->nodes[middle]->original < original->id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < copy->count && copy->nodes[low]->original == original->id ? copy->nodes[low] : NULL;
}

static bool copy_nodes(struct graph *copy, const struct graph *graph) {
  for (uint32_t i = 0; i < graph->count; i++) {
    struct work work;
    if (!work_copy(&work, &graph->nodes[i]->work)) return false;
    struct graph_node *node = make_node(copy, &work);
    if (!node) {
      work_clear(&work);
      return false;
    }
    node->original = graph->nodes[i]->id;
  }
  return true;
}

static bool translate(const struct graph *copy, struct edges *to, const struct edges *from) {
  for (uint32_t i = 0; i < from->count; i++) {
    if (!edges_add(to, node_handle(twin(copy, node_at(from, i))), &from->data[i])) return false;
  }
  return true;
}

struct graph *graph_copy(const struct graph *graph) {
  struct graph *copy = graph_make();
  if (!copy) return NULL;
  bool good = copy_nodes(copy, graph) && user_references_copy(&copy->references, graph->references);
  for (uint32_t i = 0; good && i < graph->count; i++) {
    // Both sides are copied in their order, which is what updates go by.
    good = translate(copy, &copy->nodes[i]->in, &graph->nodes[i]->in) &&
           translate(copy, &copy->nodes[i]->out, &graph->nodes[i]->out);
  }
  copy->allocates = graph->allocates;
  if (good) return copy;
  graph_free(copy);
  return NULL;
}

/** The graph in a node that stands for the one that is in another of its kind. */
static struct graph *inner(const struct graph_node *node, const struct graph_node *other,
                           const struct graph *graph) {
  const struct conditional_work *conditional = &node->work.conditional;
  if (node->work.type == NODE_CHILD) return node->work.child;
  if (node->work.type != NODE_CONDITIONAL || other->work.type != NODE_CONDITIONAL) return NULL;
  for (unsigned int i = 0; i < conditional->count; i++) {
    if (other->work.conditional.bodies[i] == graph) return conditional->bodies[i];
  }
  return NULL;
}

struct graph_node *graph_counterpart(struct graph *copy, const struct graph_node *original) {
  const struct graph_node *parent = original->graph->parent;
  if (parent) {
    struct graph_node *outer = graph_counterpart(copy, parent);
    // A graph given by itself may be the one inside another.
    struct graph *within = outer ? inner(outer, parent, original->graph) : NULL;
    if (within) return twin(within, original);
  }
  return twin(copy, original);
}

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
  if (node) *type = node->work.type;
  lock_release(&graphLock);
  return node ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
