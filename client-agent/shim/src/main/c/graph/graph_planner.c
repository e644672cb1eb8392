// SPDX-License-Identifier: Apache-2.0
#include "graph/graph_planner.h"

#include "memory/memcpy2d.h"

#include <stdlib.h>
#include <string.h>

CUresult plan_kind(const struct work *work, enum step_kind *kind) {
  enum copy3d_kind copies;
  CUresult result = CUDA_SUCCESS;
  switch (work->type) {
    case NODE_HOST:
    case NODE_MEM_OPS:
    case NODE_COLLECTIVE:
      *kind = STEP_HOST;
      break;
    case NODE_EMPTY:
    case NODE_CHILD:
    case NODE_MEM_ALLOC:
    case NODE_MEM_FREE:
      *kind = STEP_NOTHING;
      break;
    case NODE_MEMCPY:
      result = memcpy3d_kind(&work->copy, &copies);
      *kind = !result && copies == COPY3D_ON_DEVICE ? STEP_DEVICE : STEP_HOST;
      break;
    default:
      *kind = STEP_DEVICE;
      break;
  }
  return result;
}

static bool add_after(struct plan *plan, uint32_t step) {
  if (plan->afterCount == plan->afterCapacity) {
    uint32_t capacity = plan->afterCapacity ? 2 * plan->afterCapacity : 64;
    uint32_t *after = realloc(plan->after, capacity * sizeof *after);
    if (!after) return false;
    plan->after = after;
    plan->afterCapacity = capacity;
  }
  plan->after[plan->afterCount++] = step;
  return true;
}

/** Adds a step that comes after all in the list from `firstAfter` on. */
static bool add_step(struct plan *plan, struct graph_node *node, enum step_kind kind,
                     uint32_t firstAfter) {
  if (plan->stepCount == plan->stepCapacity) {
    uint32_t capacity = plan->stepCapacity ? 2 * plan->stepCapacity : 64;
    struct step *steps = realloc(plan->steps, capacity * sizeof *steps);
    if (!steps) return false;
    plan->steps = steps;
    plan->stepCapacity = capacity;
  }
  // A device's first phase is 1, so that what the host has to do before all else is phase 0.
  uint32_t phase = kind == STEP_DEVICE ? 1 : 0;
  for (uint32_t i = firstAfter; i < plan->afterCount; i++) {
    uint32_t before = plan->steps[plan->after[i]].phase;
    bool same = kind == STEP_NOTHING || (before % 2 == 1) == (kind == STEP_DEVICE);
    uint32_t least = same ? before : before + 1;
    if (least > phase) phase = least;
  }
  node->step = plan->stepCount;
  plan->steps[plan->stepCount++] = (struct step){.node = node,
                                                 .kind = (uint8_t)kind,
                                                 .phase = phase,
                                                 .firstAfter = firstAfter,
                                                 .afterCount = plan->afterCount - firstAfter};
  if (phase >= plan->phaseCount) plan->phaseCount = phase + 1;
  return true;
}

static CUresult plan_nodes(struct plan *plan, const struct graph *graph, uint32_t entry,
                           struct graph_node **fault);

/** A child graph: a step where it begins, its own, and one where it ends. */
static CUresult plan_child(struct plan *plan, struct graph_node *node, uint32_t firstAfter,
                           struct graph_node **fault) {
  const struct graph *child = node->work.child;
  if (!add_step(plan, node, STEP_NOTHING, firstAfter)) return CUDA_ERROR_OUT_OF_MEMORY;
  uint32_t entry = node->step;
  CUresult result = plan_nodes(plan, child, entry, fault);
  if (result) return result;
  firstAfter = plan->afterCount;
  bool good = child->count || add_after(plan, entry);
  for (uint32_t i = 0; good && i < child->count; i++) {
    if (!child->nodes[i]->out.count) good = add_after(plan, child->nodes[i]->step);
  }
  good = good && add_step(plan, node, STEP_NOTHING, firstAfter);
  return good ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult plan_node(struct plan *plan, struct graph_node *node, uint32_t entry,
                          struct graph_node **fault) {
  enum step_kind kind;
  CUresult result = plan_kind(&node->work, &kind);
  if (result) {
    *fault = node;
    return result;
  }
  uint32_t firstAfter = plan->afterCount;
  bool good = node->in.count || entry == NO_STEP || add_after(plan, entry);
  for (uint32_t i = 0; good && i < node->in.count; i++) {
    good = add_after(plan, node_at(&node->in, i)->step);
  }
  if (!good) return CUDA_ERROR_OUT_OF_MEMORY;
  if (node->work.type == NODE_CHILD) return plan_child(plan, node, firstAfter, fault);
  return add_step(plan, node, kind, firstAfter) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/** Plans each node after those it depends on; until then its step counts these. */
static CUresult plan_nodes(struct plan *plan, const struct graph *graph, uint32_t entry,
                           struct graph_node **fault) {
  CUresult result = CUDA_SUCCESS;
  uint32_t ready = 0, done = 0;
  struct graph_node **queue = malloc((graph->count + 1) * sizeof(struct graph_node *));
  if (!queue) return CUDA_ERROR_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < graph->count; i++) {
    struct graph_node *node = graph->nodes[i];
    node->step = node->in.count;
    if (!node->step) queue[ready++] = node;
  }
  while (done < ready && !result) {
    struct graph_node *node = queue[done++];
    result = plan_node(plan, node, entry, fault);
    for (uint32_t i = 0; i < node->out.count; i++) {
      struct graph_node *next = node_at(&node->out, i);
      if (--next->step == 0) queue[ready++] = next;
    }
  }
  free(queue);
  return !result && done < graph->count ? CUDA_ERROR_INVALID_VALUE : result;
}

/** Returns whether the graph of its phase has a node for a step. */
static bool is_sent(const struct step *step) {
  return step->kind != STEP_NOTHING || step->phase % 2 == 1;
}

static CUresult sort(struct plan *plan) {
  plan->phases = calloc(plan->phaseCount + 1, sizeof *plan->phases);
  plan->order = malloc((plan->stepCount + 1) * sizeof *plan->order);
  if (!plan->phases || !plan->order) return CUDA_ERROR_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < plan->stepCount; i++) {
    struct step *step = &plan->steps[i];
    if (is_sent(step)) step->index = plan->phases[step->phase].count++;
  }
  for (uint32_t i = 1; i < plan->phaseCount; i++) {
    plan->phases[i].first = plan->phases[i - 1].first + plan->phases[i - 1].count;
  }
  for (uint32_t i = 0; i < plan->stepCount; i++) {
    const struct step *step = &plan->steps[i];
    if (is_sent(step)) plan->order[plan->phases[step->phase].first + step->index] = i;
  }
  return CUDA_SUCCESS;
}

CUresult plan_make(struct plan *plan, const struct graph *graph, struct graph_node **fault) {
  *plan = (struct plan){0};
  CUresult result = plan_nodes(plan, graph, NO_STEP, fault);
  if (!result) result = sort(plan);
  if (result) plan_free(plan);
  return result;
}
