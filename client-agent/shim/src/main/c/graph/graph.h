// SPDX-License-Identifier: Apache-2.0
// Graphs: nodes with their work and edges. They are data of the shim alone; the worker learns of them
// when they are instantiated.
#pragma once

#include "core/handles.h"
#include "graph/edges.h"
#include "graph/graph_lock.h"
#include "graph/graph_work.h"

struct conditions;
struct graph_node;
struct plan;
struct user_reference;

struct graph {
  struct slot slot;
  struct graph_node **nodes;  // in the order in which they were made: their ids ascend
  uint32_t count, capacity;
  struct graph_node *parent;  // of which this is the work, or NULL
  uint64_t capturing;         // the id of the capture that adds to it, or 0
  bool allocates;             // has nodes that allocate or free
  bool conditional;           // has conditional nodes
  struct conditions *conditions;  // of one that is in no other, and of all in it; or NULL
  struct plan *plan;              // of a conditional node's body in an executable graph, or NULL
  uint32_t number;                // the worker's of such a body
  uint32_t executables;       // there are of it, counted if it allocates
  struct user_reference *references;
};

struct graph_node {
  struct slot slot;
  struct graph *graph;
  uint64_t id;        // never used again
  uint64_t original;  // the id of the node this is a copy of, or 0
  uint64_t mark;      // for walks: graph_stamp()
  struct graph_node *match;  // in a comparison: what it was found to stand for, if marked
  uint32_t step;      // of an executable graph's copy: the step that ends it
  bool disabled;      // of an executable graph's copy
  struct edges in, out;
  struct work work;
};

// All of these want the lock held.

struct graph *graph_find(CUgraph handle);
struct graph_node *node_find(CUgraphNode handle);

static inline CUgraphNode node_handle(struct graph_node *node) { return (CUgraphNode)(void *)node; }

static inline struct graph_node *node_at(const struct edges *edges, uint32_t index) {
  return (struct graph_node *)(void *)edges->nodes[index];
}

/** A value that no node's mark has. */
uint64_t graph_stamp(void);

/** NULL: no memory. */
struct graph *graph_make(void);

/** The graph, its nodes, and the graphs in them. */
void graph_free(struct graph *graph);

/** A copy whose nodes know what they are copies of; NULL: no memory. */
struct graph *graph_copy(const struct graph *graph);

/** Copies work with the graphs in it; false without memory, with nothing to free. */
bool work_copy(struct work *to, const struct work *from);

/** Frees the memory of work and the graphs in it. */
void work_clear(struct work *work);

/** The node of a copy that is the copy of this node, in graphs inside it too; or NULL. */
struct graph_node *graph_counterpart(struct graph *copy, const struct graph_node *original);

/**
 * Adds a node. data may be NULL. The work is the node's when this succeeds.
 * CUDA_ERROR_INVALID_VALUE: a dependency is not of this graph, or there twice.
 */
CUresult graph_add(struct graph *graph, const CUgraphNode *dependencies,
                   const CUgraphEdgeData *data, size_t count, struct work *work,
                   struct graph_node **made);

/** A node and its edges. */
void node_free(struct graph_node *node);

/** The graph that a graph is in, at whatever depth; itself if in none. */
struct graph *graph_root(struct graph *graph);

/** Returns whether a graph, or the body of a node of it, is being captured to. */
bool graph_captures(const struct graph *graph);
