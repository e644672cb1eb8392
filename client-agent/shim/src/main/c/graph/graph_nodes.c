// SPDX-License-Identifier: Apache-2.0
// Nodes of graphs made, asked and changed one by one.
#include "graph/graph_nodes.h"

#include "graph/graph_conditional.h"
#include "graph/graph_params.h"
#include "shim.h"

#include <string.h>

/** Returns whether a graph frees the memory at an address. The lock is held. */
static bool frees(const struct graph *graph, CUdeviceptr address) {
  for (uint32_t i = 0; graph->allocates && i < graph->count; i++) {
    const struct work *work = &graph->nodes[i]->work;
    if (work->type == NODE_MEM_FREE && work->freed == address) return true;
  }
  return false;
}

CUresult node_add(CUgraphNode *made, CUgraph handle, const CUgraphNode *dependencies,
                  const CUgraphEdgeData *data, size_t count, struct work *work) {
  struct graph_node *node;
  lock_take(&graphLock);
  struct graph *graph = graph_find(handle);
  bool good = graph && made && !(work->type == NODE_MEM_FREE && frees(graph, work->freed)) &&
              !(work->type == NODE_CONDITIONAL && !conditional_take(graph, work));
  CUresult result = good ? graph_add(graph, dependencies, data, count, work, &node)
                         : CUDA_ERROR_INVALID_VALUE;
  if (result) {
    work_clear(work);
  } else {
    *made = node_handle(node);
  }
  lock_release(&graphLock);
  return result;
}

/** Has new work use the memory of the old for its parameters: the program may have pointers to it. */
static void keep_parameters(struct work *after, struct work *before) {
  struct kernel_work *to = &after->kernel, *from = &before->kernel;
  if (to->parameterCount != from->parameterCount || to->parameterBytes != from->parameterBytes) {
    return;
  }
  uint8_t *parameters = from->parameters;
  void **pointers = from->pointers;
  uint32_t *offsets = from->offsets;
  memcpy(parameters, to->parameters, to->parameterBytes);
  for (uint32_t i = 0; i < to->parameterCount; i++) offsets[i] = to->offsets[i];
  from->parameters = to->parameters;
  from->pointers = to->pointers;
  from->offsets = to->offsets;
  to->parameters = parameters;
  to->pointers = pointers;
  to->offsets = offsets;
  kernel_point(to);
}

CUresult node_set(CUgraphNode handle, struct work *work) {
  lock_take(&graphLock);
  struct graph_node *node = node_find(handle);
  bool fixed = work->type == NODE_MEM_ALLOC || work->type == NODE_MEM_FREE;
  bool good = node && node->work.type == work->type && !fixed;
  if (good) {
    if (work->type == NODE_KERNEL) keep_parameters(work, &node->work);
    work_clear(&node->work);
    node->work = *work;
    if (work->type == NODE_CHILD) work->child->parent = node;
  } else {
    work_clear(work);
  }
  lock_release(&graphLock);
  return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult node_work(CUgraphNode handle, int type, struct work *work) {
  lock_take(&graphLock);
  const struct graph_node *node = node_find(handle);
  bool found = node && node->work.type == type;
  if (found) *work = node->work;
  lock_release(&graphLock);
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult shim_cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
                                const CUgraphNode *dependencies,
                                const CUgraphEdgeData *dependencyData, size_t numDependencies,
                                CUgraphNodeParams *nodeParams) {
  struct work work;
  CUresult result = params_any(nodeParams, &work);
  if (!result) {
    result = node_add(phGraphNode, hGraph, dependencies, dependencyData, numDependencies, &work);
  }
  if (!result && nodeParams->type == NODE_CONDITIONAL) {
    // The bodies' handles, for as long as the node lives.
    nodeParams->conditional.graphs = (CUgraph *)(void *)work.conditional.bodies;
  }
  return result;
}

CUresult shim_cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams *nodeParams) {
  struct work work;
  if (nodeParams && nodeParams->type == NODE_CONDITIONAL) return CUDA_ERROR_NOT_SUPPORTED;
  CUresult result = params_any(nodeParams, &work);
  return result ? result : node_set(hNode, &work);
}

CUresult shim_cuGraphKernelNodeGetParams_v2(CUgraphNode hNode,
                                            CUDA_KERNEL_NODE_PARAMS *nodeParams) {
  struct work work;
  if (!nodeParams) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = node_work(hNode, NODE_KERNEL, &work);
  if (result) return result;
  const struct kernel_work *kernel = &work.kernel;
  *nodeParams = (CUDA_KERNEL_NODE_PARAMS){
      .func = kernel->function,
      .gridDimX = kernel->grid[0],
      .gridDimY = kernel->grid[1],
      .gridDimZ = kernel->grid[2],
      .blockDimX = kernel->block[0],
      .blockDimY = kernel->block[1],
      .blockDimZ = kernel->block[2],
      .sharedMemBytes = kernel->sharedBytes,
      .kernelParams = kernel->pointers,
      .kern = kernel->kernel,
      .ctx = (CUcontext)(void *)work.context,
  };
  return CUDA_SUCCESS;
}

CUresult shim_cuGraphKernelNodeGetParams(CUgraphNode hNode,
                                         CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams) {
  CUDA_KERNEL_NODE_PARAMS wide;
  if (!nodeParams) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = shim_cuGraphKernelNodeGetParams_v2(hNode, &wide);
  if (result) return result;
  memcpy(nodeParams, &wide, sizeof *nodeParams);
  return CUDA_SUCCESS;
}

CUresult node_set_kernel(CUgraphNode handle, struct work *work) {
  lock_take(&graphLock);
  struct graph_node *node = node_find(handle);
  if (node && node->work.type == NODE_KERNEL) {
    kernel_keep_attributes(&work->kernel, &node->work.kernel);
  }
  lock_release(&graphLock);
  return node_set(handle, work);
}

CUresult shim_cuGraphAddEmptyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                  const CUgraphNode *dependencies, size_t numDependencies) {
  struct work work = work_make(NODE_EMPTY, NULL);
  return node_add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &work);
}

CUresult shim_cuGraphBatchMemOpNodeGetParams(CUgraphNode hNode,
                                             CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams_out) {
  struct work work;
  if (!nodeParams_out) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = node_work(hNode, NODE_MEM_OPS, &work);
  if (result) return result;
  *nodeParams_out = (CUDA_BATCH_MEM_OP_NODE_PARAMS){
      .ctx = (CUcontext)(void *)work.context,
      .count = work.memory.count,
      .paramArray = work.memory.operations,
  };
  return CUDA_SUCCESS;
}
