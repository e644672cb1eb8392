// SPDX-License-Identifier: Apache-2.0
// Changes of executable graphs: node by node, and by another graph of the same shape.
#include "graph/graph_compare.h"
#include "graph/graph_exec.h"
#include "graph/graph_params.h"
#include "graph/graph_send.h"
#include "ops.h"
#include "shim.h"

struct graph_node *exec_node(struct graph_exec *exec, CUgraphNode handle) {
  const struct graph_node *original = node_find(handle);
  return original ? graph_counterpart(exec->graph, original) : NULL;
}

static bool same_kind(const struct work *one, const struct work *other) {
  enum step_kind oneKind, otherKind;
  return one->type == other->type && !plan_kind(one, &oneKind) &&
         !plan_kind(other, &otherKind) && oneKind == otherKind;
}

/** The plan that a node of an executable graph is in: of the graph, or of a body. */
static const struct plan *plan_of(const struct graph_exec *exec, const struct graph_node *node) {
  const struct graph *graph = node->graph;
  while (graph->parent && !graph->plan) graph = graph->parent->graph;
  return graph->plan ? graph->plan : &exec->plan;
}

CUresult exec_set(struct graph_exec *exec, struct graph_node *node, struct work *work) {
  const struct plan *plan = plan_of(exec, node);
  const struct step *step = &plan->steps[node->step];
  CUresult result = CUDA_SUCCESS;
  if (!same_kind(&node->work, work) ||
      (work->type == NODE_KERNEL && work->context != node->work.context)) {
    result = CUDA_ERROR_INVALID_VALUE;
  } else if (step->kind == STEP_DEVICE) {
    result = send_work(&plan->phases[step->phase], step, work, exec->context);
  }
  lock_take(&graphLock);
  if (result) {
    work_clear(work);
  } else if (work->type == NODE_CONDITIONAL) {
    node->work.conditional.handle = work->conditional.handle;
  } else {
    if (work->type == NODE_KERNEL) kernel_keep_attributes(&work->kernel, &node->work.kernel);
    work_clear(&node->work);
    node->work = *work;
  }
  lock_release(&graphLock);
  return result;
}

CUresult exec_set_node(CUgraphExec hGraphExec, CUgraphNode hNode, struct work *work) {
  struct graph_exec *exec = exec_find(hGraphExec);
  CUresult result = CUDA_ERROR_INVALID_VALUE;
  struct graph_node *node = NULL;
  if (exec) {
    lock_take(&exec->lock);
    lock_take(&graphLock);
    node = exec_node(exec, hNode);
    lock_release(&graphLock);
  }
  if (node && node->work.type == work->type) {
    result = exec_set(exec, node, work);
  } else {
    lock_take(&graphLock);
    work_clear(work);
    lock_release(&graphLock);
  }
  if (exec) lock_release(&exec->lock);
  return result;
}

// Switching nodes off and on

static bool can_be_disabled(const struct graph_node *node) {
  int type = node->work.type;
  return type == NODE_KERNEL || type == NODE_MEMCPY || type == NODE_MEMSET;
}

CUresult shim_cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode,
                                    unsigned int isEnabled) {
  struct graph_exec *exec = exec_find(hGraphExec);
  CUresult result = CUDA_SUCCESS;
  if (!exec) return CUDA_ERROR_INVALID_VALUE;
  lock_take(&exec->lock);
  lock_take(&graphLock);
  struct graph_node *node = exec_node(exec, hNode);
  lock_release(&graphLock);
  if (!node || !can_be_disabled(node)) {
    result = CUDA_ERROR_INVALID_VALUE;
  } else if (node->disabled == (isEnabled != 0)) {
    const struct plan *plan = plan_of(exec, node);
    const struct step *step = &plan->steps[node->step];
    node->disabled = !isEnabled;
    if (step->kind == STEP_DEVICE) {
      result = op_graphSetEnabled(exec->context->number, plan->phases[step->phase].graph,
                                  step->index, isEnabled != 0);
    }
  }
  lock_release(&exec->lock);
  return result;
}

CUresult shim_cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode,
                                    unsigned int *isEnabled) {
  struct graph_exec *exec = exec_find(hGraphExec);
  if (!exec || !isEnabled) return CUDA_ERROR_INVALID_VALUE;
  lock_take(&exec->lock);
  lock_take(&graphLock);
  const struct graph_node *node = exec_node(exec, hNode);
  lock_release(&graphLock);
  bool good = node && can_be_disabled(node);
  if (good) *isEnabled = !node->disabled;
  lock_release(&exec->lock);
  return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Other graphs of the same shape

/** Takes over the work of another graph. The exec's lock is held. */
static CUresult take_over(struct graph_exec *exec, struct graph *graph, CUgraph handle,
                          CUgraphExecUpdateResultInfo *info) {
  struct changes changes = {0};
  lock_take(&graphLock);
  struct graph *other = graph_find(handle);
  bool good = other && !other->capturing;
  int differs = good ? graph_compare(graph, other, &changes, info) : UPDATE_ERROR;
  lock_release(&graphLock);
  if (!good) return CUDA_ERROR_INVALID_VALUE;
  if (differs) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < changes.count && !result; i++) {
    result = exec_set(exec, changes.list[i].node, &changes.list[i].work);
    // It is the node's now, or freed.
    changes.list[i].work.type = NODE_EMPTY;
  }
  lock_take(&graphLock);
  changes_free(&changes);
  lock_release(&graphLock);
  if (result) info->result = UPDATE_ERROR;
  return result;
}

CUresult shim_cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph,
                                   CUgraphExecUpdateResultInfo *resultInfo) {
  struct graph_exec *exec = exec_find(hGraphExec);
  if (!exec || !resultInfo) return CUDA_ERROR_INVALID_VALUE;
  *resultInfo = (CUgraphExecUpdateResultInfo){.result = UPDATE_ERROR};
  lock_take(&exec->lock);
  CUresult result = take_over(exec, exec->graph, hGraph, resultInfo);
  lock_release(&exec->lock);
  return result;
}

CUresult shim_cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode *hErrorNode_out,
                                CUgraphExecUpdateResult *updateResult_out) {
  CUgraphExecUpdateResultInfo info = {.result = UPDATE_ERROR};
  CUresult result = shim_cuGraphExecUpdate_v2(hGraphExec, hGraph, &info);
  if (result && result != CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE) info.errorNode = NULL;
  if (hErrorNode_out) *hErrorNode_out = result ? info.errorNode : NULL;
  if (updateResult_out) *updateResult_out = result ? info.result : UPDATE_SUCCESS;
  return result;
}

CUresult shim_cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                 CUgraph childGraph) {
  CUgraphExecUpdateResultInfo info;
  struct graph_exec *exec = exec_find(hGraphExec);
  if (!exec) return CUDA_ERROR_INVALID_VALUE;
  lock_take(&exec->lock);
  lock_take(&graphLock);
  struct graph_node *node = exec_node(exec, hNode);
  lock_release(&graphLock);
  CUresult result = node && node->work.type == NODE_CHILD
                        ? take_over(exec, node->work.child, childGraph, &info)
                        : CUDA_ERROR_INVALID_VALUE;
  lock_release(&exec->lock);
  return result == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE ? CUDA_ERROR_INVALID_VALUE : result;
}

CUresult shim_cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                       CUgraphNodeParams *nodeParams) {
  struct work work;
  if (nodeParams && nodeParams->type == NODE_CONDITIONAL) return CUDA_ERROR_NOT_SUPPORTED;
  if (nodeParams && nodeParams->type == NODE_CHILD) {
    return shim_cuGraphExecChildGraphNodeSetParams(hGraphExec, hNode, nodeParams->child.graph);
  }
  CUresult result = params_any(nodeParams, &work);
  return result ? result : exec_set_node(hGraphExec, hNode, &work);
}
