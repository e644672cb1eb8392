// SPDX-License-Identifier: Apache-2.0
#include "graph/graph_compare.h"

#include "graph/graph_planner.h"

#include <stdlib.h>

/** Pairs of nodes found, those up to `done` with their dependencies. */
struct pairing {
  uint64_t stamp;
  struct graph_node **nodes;  // of the first graph
  uint32_t count, done;
  CUgraphExecUpdateResultInfo *info;
};

static int differ(struct pairing *pairing, int result, struct graph_node *node,
                  struct graph_node *from) {
  pairing->info->result = result;
  pairing->info->errorNode = node ? node_handle(node) : NULL;
  pairing->info->errorFromNode = from ? node_handle(from) : NULL;
  return result;
}

/** Takes two nodes for each other; from is the end of the edge that led there. */
static int pair(struct pairing *pairing, struct graph_node *node, struct graph_node *other,
                struct graph_node *from) {
  bool known = node->mark == pairing->stamp, otherKnown = other->mark == pairing->stamp;
  if (known || otherKnown) {
    if (known && otherKnown && node->match == other) return UPDATE_SUCCESS;
    return differ(pairing, UPDATE_TOPOLOGY_CHANGED, from, other);
  }
  if (node->work.type != other->work.type) {
    return differ(pairing, UPDATE_TYPE_CHANGED, other, NULL);
  }
  if (node->in.count != other->in.count) {
    return differ(pairing, UPDATE_TOPOLOGY_CHANGED, other, NULL);
  }
  node->mark = other->mark = pairing->stamp;
  node->match = other;
  other->match = node;
  pairing->nodes[pairing->count++] = node;
  return UPDATE_SUCCESS;
}

/** The next node that nothing follows, or NULL. */
static struct graph_node *next_end(const struct graph *graph, uint32_t *at) {
  while (*at < graph->count) {
    struct graph_node *node = graph->nodes[(*at)++];
    if (!node->out.count) return node;
  }
  return NULL;
}

static int pair_all(struct pairing *pairing, const struct graph *graph,
                    const struct graph *other) {
  uint32_t at = 0, otherAt = 0;
  int result = UPDATE_SUCCESS;
  if (graph->count != other->count) return differ(pairing, UPDATE_TOPOLOGY_CHANGED, NULL, NULL);
  for (;;) {
    struct graph_node *end = next_end(graph, &at), *otherEnd = next_end(other, &otherAt);
    if (!end && !otherEnd) break;
    if (!end || !otherEnd) return differ(pairing, UPDATE_TOPOLOGY_CHANGED, otherEnd, NULL);
    result = pair(pairing, end, otherEnd, NULL);
    if (result) return result;
  }
  while (pairing->done < pairing->count) {
    const struct graph_node *node = pairing->nodes[pairing->done++];
    for (uint32_t i = 0; i < node->in.count; i++) {
      result = pair(pairing, node_at(&node->in, i), node_at(&node->match->in, i), node->match);
      if (result) return result;
    }
  }
  return pairing->count == graph->count
             ? UPDATE_SUCCESS
             : differ(pairing, UPDATE_TOPOLOGY_CHANGED, NULL, NULL);
}

static bool add_change(struct changes *changes, struct graph_node *node, const struct work *work) {
  if (changes->count == changes->capacity) {
    uint32_t capacity = changes->capacity ? 2 * changes->capacity : 16;
    struct change *list = realloc(changes->list, capacity * sizeof *list);
    if (!list) return false;
    changes->list = list;
    changes->capacity = capacity;
  }
  struct change *change = &changes->list[changes->count];
  change->node = node;
  if (!work_copy(&change->work, work)) return false;
  changes->count++;
  return true;
}

static int compare(struct graph *graph, struct graph *other, struct changes *changes,
                   CUgraphExecUpdateResultInfo *info);

/** The bodies of two conditional nodes; the condition is taken over. */
static int compare_bodies(struct graph_node *node, const struct graph_node *other,
                          struct changes *changes, CUgraphExecUpdateResultInfo *info) {
  const struct conditional_work *conditional = &node->work.conditional,
                                *otherOne = &other->work.conditional;
  int result = UPDATE_SUCCESS;
  if (conditional->kind != otherOne->kind || conditional->count != otherOne->count) {
    return UPDATE_PARAMETERS_CHANGED;
  }
  for (unsigned int i = 0; i < conditional->count && !result; i++) {
    result = compare(conditional->bodies[i], otherOne->bodies[i], changes, info);
  }
  if (result || conditional->handle == otherOne->handle) return result;
  struct work work = work_make(NODE_CONDITIONAL, node->work.context);
  work.conditional = *otherOne;
  work.conditional.bodies = NULL;
  return add_change(changes, node, &work) ? UPDATE_SUCCESS : UPDATE_ERROR;
}

/** Returns whether a node can take over other work of its type. */
static int check_work(const struct work *work, const struct work *other) {
  enum step_kind kind, otherKind;
  if (work->type == NODE_MEM_ALLOC || work->type == NODE_MEM_FREE) return UPDATE_NOT_SUPPORTED;
  if (work->type == NODE_KERNEL) {
    if (work->context != other->context) return UPDATE_FUNCTION_CHANGE;
    return kernel_same_attributes(&work->kernel, &other->kernel) ? UPDATE_SUCCESS
                                                                 : UPDATE_ATTRIBUTES_CHANGED;
  }
  if (plan_kind(work, &kind) || plan_kind(other, &otherKind) || kind != otherKind) {
    return UPDATE_PARAMETERS_CHANGED;
  }
  return UPDATE_SUCCESS;
}

static int compare(struct graph *graph, struct graph *other, struct changes *changes,
                   CUgraphExecUpdateResultInfo *info) {
  struct pairing pairing = {.stamp = graph_stamp(), .info = info};
  pairing.nodes = malloc((graph->count + 1) * sizeof(struct graph_node *));
  if (!pairing.nodes) return differ(&pairing, UPDATE_ERROR, NULL, NULL);
  int result = pair_all(&pairing, graph, other);
  for (uint32_t i = 0; i < graph->count && !result; i++) {
    struct graph_node *node = graph->nodes[i], *match = node->match;
    if (node->work.type == NODE_CHILD) {
      result = compare(node->work.child, match->work.child, changes, info);
      continue;
    }
    if (node->work.type == NODE_CONDITIONAL) {
      result = compare_bodies(node, match, changes, info);
      if (result && !info->errorNode) differ(&pairing, result, match, NULL);
      continue;
    }
    result = check_work(&node->work, &match->work);
    if (!result && !work_equal(&node->work, &match->work) &&
        !add_change(changes, node, &match->work)) {
      result = UPDATE_ERROR;
    }
    if (result) differ(&pairing, result, match, NULL);
  }
  free(pairing.nodes);
  return result;
}

int graph_compare(struct graph *graph, struct graph *other, struct changes *changes,
                  CUgraphExecUpdateResultInfo *info) {
  *changes = (struct changes){0};
  *info = (CUgraphExecUpdateResultInfo){.result = UPDATE_SUCCESS};
  int result = compare(graph, other, changes, info);
  if (result) changes_free(changes);
  return result;
}

void changes_free(struct changes *changes) {
  for (uint32_t i = 0; i < changes->count; i++) work_clear(&changes->list[i].work);
  free(changes->list);
  *changes = (struct changes){0};
}
