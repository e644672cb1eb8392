// SPDX-License-Identifier: Apache-2.0
#include "graph/graph_conditional.h"

#include "core/log.h"
#include "ops.h"
#include "shim.h"

#include <stdlib.h>

enum { ASSIGN_DEFAULT = 1, MAX_BODIES = 1 << 12 };

/** The conditions of a graph, made if it has none; counts one reference more. NULL: no memory. */
static struct conditions *conditions_of(struct graph *root, struct context *context) {
  if (!root->conditions) {
    struct conditions *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->number = graph_number();
    made->context = context;
    made->contextId = context->id;
    made->references = 1;
    root->conditions = made;
  }
  root->conditions->references++;
  return root->conditions;
}

static bool note(struct conditions *conditions, uint64_t handle) {
  struct condition *list =
      realloc(conditions->list, (conditions->count + 1) * sizeof *conditions->list);
  if (!list) return false;
  conditions->list = list;
  list[conditions->count++] = (struct condition){.handle = handle};
  return true;
}

/** A graph of which no condition could be made is as it was. */
static void forget_unused(CUgraph handle, struct conditions *conditions) {
  struct graph *graph = graph_find(handle);
  struct graph *root = graph ? graph_root(graph) : NULL;
  if (!root || root->conditions != conditions || conditions->count || conditions->busy) return;
  root->conditions = NULL;
  conditions_drop(conditions);
}

CUresult shim_cuGraphConditionalHandleCreate(CUgraphConditionalHandle *pHandle_out, CUgraph hGraph,
                                             CUcontext ctx, unsigned int defaultLaunchValue,
                                             unsigned int flags) {
  struct context *context;
  if (!pHandle_out || flags & ~(unsigned int)ASSIGN_DEFAULT) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = work_given_context(ctx, &context);
  if (!result && !context) result = CUDA_ERROR_INVALID_CONTEXT;
  if (result) return result;
  lock_take(&graphLock);
  struct graph *graph = graph_find(hGraph);
  struct conditions *conditions = graph ? conditions_of(graph_root(graph), context) : NULL;
  lock_release(&graphLock);
  if (!graph) return CUDA_ERROR_INVALID_VALUE;
  if (!conditions) return CUDA_ERROR_OUT_OF_MEMORY;
  uint64_t handle = 0;
  result = context_result(context, op_graphCondition(context->number, conditions->number,
                                                     defaultLaunchValue, flags, &handle));
  lock_take(&graphLock);
  if (!result && !note(conditions, handle)) result = CUDA_ERROR_OUT_OF_MEMORY;
  if (result) forget_unused(hGraph, conditions);
  conditions_drop(conditions);
  lock_release(&graphLock);
  if (!result) *pHandle_out = handle;
  return result;
}

// Nodes

CUresult params_conditional(const struct conditional_params *params, struct work *work) {
  struct context *context;
  unsigned int most = params->type == CONDITIONAL_IF      ? 2
                      : params->type == CONDITIONAL_WHILE ? 1
                                                          : MAX_BODIES;
  if (params->type < CONDITIONAL_IF || params->type > CONDITIONAL_SWITCH || !params->size ||
      params->size > most) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUresult result = work_given_context(params->ctx, &context);
  if (result) return result;
  *work = work_make(NODE_CONDITIONAL, context);
  struct conditional_work *conditional = &work->conditional;
  *conditional = (struct conditional_work){.handle = params->handle,
                                           .kind = params->type,
                                           .count = params->size,
                                           .bodies = calloc(params->size, sizeof(struct graph *))};
  lock_take(&graphLock);
  bool good = conditional->bodies != NULL;
  for (unsigned int i = 0; good && i < params->size; i++) {
    conditional->bodies[i] = graph_make();
    good = conditional->bodies[i] != NULL;
  }
  if (!good) work_clear(work);
  lock_release(&graphLock);
  return good ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

bool conditional_take(struct graph *graph, const struct work *work) {
  const struct conditions *conditions = graph_root(graph)->conditions;
  for (uint32_t i = 0; conditions && i < conditions->count; i++) {
    struct condition *condition = &conditions->list[i];
    if (condition->handle != work->conditional.handle) continue;
    bool first = !condition->used;
    condition->used = true;
    return first;
  }
  return false;
}

// Plans

/** Returns whether work may be in a body; CUDA_ERROR_NOT_SUPPORTED: on a card, but not here. */
static CUresult check_step(const struct step *step) {
  switch (step->node->work.type) {
    case NODE_KERNEL:
    case NODE_MEMSET:
    case NODE_EMPTY:
    case NODE_CHILD:
    case NODE_CONDITIONAL:
      return CUDA_SUCCESS;
    case NODE_MEMCPY:
      if (step->kind == STEP_DEVICE) return CUDA_SUCCESS;
      log_line(LOG_WARN, "in the body of a conditional node, copies are between memory of devices "
                         "only (CUDA_ERROR_NOT_SUPPORTED)");
      return CUDA_ERROR_NOT_SUPPORTED;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

static CUresult plan_body(struct graph *body, struct graph_node **fault) {
  body->plan = calloc(1, sizeof *body->plan);
  if (!body->plan) return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult result = plan_make(body->plan, body, fault);
  for (uint32_t i = 0; i < body->plan->stepCount && !result; i++) {
    result = check_step(&body->plan->steps[i]);
    if (result) *fault = body->plan->steps[i].node;
  }
  return result ? result : conditional_plan(body->plan, fault);
}

CUresult conditional_plan(const struct plan *plan, struct graph_node **fault) {
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < plan->stepCount && !result; i++) {
    const struct step *step = &plan->steps[i];
    if (step->node->work.type != NODE_CONDITIONAL) continue;
    if (step->phase != 1) {
      log_line(LOG_WARN, "a conditional node cannot come after device work that the host's part in "
                         "the graph comes after (CUDA_ERROR_NOT_SUPPORTED)");
      result = CUDA_ERROR_NOT_SUPPORTED;
      *fault = step->node;
    }
    const struct conditional_work *conditional = &step->node->work.conditional;
    for (unsigned int j = 0; j < conditional->count && !result; j++) {
      result = plan_body(conditional->bodies[j], fault);
    }
  }
  return result;
}
