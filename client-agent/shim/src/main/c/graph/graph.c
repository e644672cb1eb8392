// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include "core/fork.h"
#include "graph/graph_conditions.h"
#include "graph/graph_plan.h"
#include "graph/user_object.h"

#include <stdlib.h>
#include <string.h>

ARENA(graphs, graph, 1 << 18, 0x47524831);
ARENA(graphNodes, graph_node, 1 << 20, 0x4e4f4431);

static struct {
  uint64_t lastId;
  uint64_t lastStamp;
} all;

static void graphs_reset(void) {
  memset(&all, 0, sizeof all);
}

ON_FORK(graphs_reset);

uint64_t graph_stamp(void) { return ++all.lastStamp; }

struct graph *graph_find(CUgraph handle) { return arena_find(&graphs, handle); }

struct graph_node *node_find(CUgraphNode handle) { return arena_find(&graphNodes, handle); }

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

/** Returns whether these are different nodes of this graph. */
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

static void free_bodies(struct conditional_work *conditional) {
  for (unsigned int i = 0; conditional->bodies && i < conditional->count; i++) {
    if (conditional->bodies[i]) graph_free(conditional->bodies[i]);
  }
  free(conditional->bodies);
}

static bool copy_bodies(struct conditional_work *to, const struct conditional_work *from) {
  to->bodies = calloc(from->count, sizeof(struct graph *));
  bool good = to->bodies != NULL;
  for (unsigned int i = 0; good && i < from->count; i++) {
    to->bodies[i] = graph_copy(from->bodies[i]);
    good = to->bodies[i] != NULL;
  }
  if (!good) free_bodies(to);
  return good;
}

bool work_copy(struct work *to, const struct work *from) {
  if (!work_copy_own(to, from)) return false;
  if (from->type == NODE_CHILD) return (to->child = graph_copy(from->child)) != NULL;
  if (from->type != NODE_CONDITIONAL || !from->conditional.bodies) return true;
  return copy_bodies(&to->conditional, &from->conditional);
}

void work_clear(struct work *work) {
  if (work->type == NODE_CHILD && work->child) {
    graph_free(work->child);
  } else if (work->type == NODE_CONDITIONAL) {
    free_bodies(&work->conditional);
  }
  work_clear_own(work);
}

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
static struct graph_node *copy_of(const struct graph *copy, const struct graph_node *original) {
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
    if (!edges_add(to, node_handle(copy_of(copy, node_at(from, i))), &from->data[i])) return false;
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
    if (within) return copy_of(within, original);
  }
  return copy_of(copy, original);
}

struct graph *graph_root(struct graph *graph) {
  while (graph->parent) graph = graph->parent->graph;
  return graph;
}

bool graph_captures(const struct graph *graph) {
  bool captures = graph->capturing != 0;
  for (uint32_t i = 0; graph->conditional && i < graph->count && !captures; i++) {
    const struct work *work = &graph->nodes[i]->work;
    if (work->type != NODE_CONDITIONAL) continue;
    for (unsigned int j = 0; j < work->conditional.count; j++) {
      captures = captures || graph_captures(work->conditional.bodies[j]);
    }
  }
  return captures;
}
