// SPDX-License-Identifier: Apache-2.0
// Nodes of graphs made, asked and changed one by one.
#include "graph/graph_conditional.h"
#include "graph/graph_params.h"
#include "shim.h"

#include <string.h>

/** Whether a graph frees the memory at an address. The lock is held. */
static bool frees(const struct graph *graph, CUdeviceptr address) {
  for (uint32_t i = 0; graph->allocates && i < graph->count; i++) {
    const struct work *work = &graph->nodes[i]->work;
    if (work->type == NODE_MEM_FREE && work->freed == address) return true;
  }
  return false;
}

/** Adds a node; its work is freed if that fails. */
static CUresult add(CUgraphNode *made, CUgraph handle, const CUgraphNode *dependencies,
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

/** Gives a node other work of its kind; it is freed if that fails. */
static CUresult set(CUgraphNode handle, struct work *work) {
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

/** A node of a kind, or NULL; the lock is taken, whatever comes. */
static const struct graph_node *begin_get(CUgraphNode handle, int type) {
  lock_take(&graphLock);
  const struct graph_node *node = node_find(handle);
  return node && node->work.type == type ? node : NULL;
}

static CUresult end_get(const struct graph_node *node) {
  lock_release(&graphLock);
  return node ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult shim_cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
                                const CUgraphNode *dependencies,
                                const CUgraphEdgeData *dependencyData, size_t numDependencies,
                                CUgraphNodeParams *nodeParams) {
  struct work work;
  CUresult result = params_any(nodeParams, &work);
  if (!result) {
    result = add(phGraphNode, hGraph, dependencies, dependencyData, numDependencies, &work);
  }
  if (!result && nodeParams->type == NODE_CONDITIONAL) {
    // The bodies' handles, for as long as the node lives.
    nodeParams->conditional.graphs = (CUgraph *)(void *)work.conditional.bodies;
  }
  return result;
}

CUresult shim_cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                             const CUgraphNode *dependencies, size_t numDependencies,
                             CUgraphNodeParams *nodeParams) {
  return shim_cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, NULL, numDependencies,
                                nodeParams);
}

CUresult shim_cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams *nodeParams) {
  struct work work;
  if (nodeParams && nodeParams->type == NODE_CONDITIONAL) return CUDA_ERROR_NOT_SUPPORTED;
  CUresult result = params_any(nodeParams, &work);
  return result ? result : set(hNode, &work);
}

// Kernels

CUresult shim_cuGraphAddKernelNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
                                      const CUgraphNode *dependencies, size_t numDependencies,
                                      const CUDA_KERNEL_NODE_PARAMS *nodeParams) {
  struct work work;
  CUresult result = params_kernel(nodeParams, &work);
  return result ? result : add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &work);
}

CUresult shim_cuGraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                   const CUgraphNode *dependencies, size_t numDependencies,
                                   const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams) {
  struct work work;
  CUresult result = params_kernel_v1(nodeParams, &work);
  return result ? result : add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &work);
}

CUresult shim_cuGraphKernelNodeGetParams_v2(CUgraphNode hNode,
                                            CUDA_KERNEL_NODE_PARAMS *nodeParams) {
  if (!nodeParams) return CUDA_ERROR_INVALID_VALUE;
  const struct graph_node *node = begin_get(hNode, NODE_KERNEL);
  if (node) {
    const struct kernel_work *kernel = &node->work.kernel;
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
        .ctx = (CUcontext)(void *)node->work.context,
    };
  }
  return end_get(node);
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

/** The attributes of a kernel node outlive a change of its parameters. */
static CUresult set_kernel(CUgraphNode hNode, struct work *work) {
  lock_take(&graphLock);
  struct graph_node *node = node_find(hNode);
  if (node && node->work.type == NODE_KERNEL) {
    kernel_keep_attributes(&work->kernel, &node->work.kernel);
  }
  lock_release(&graphLock);
  return set(hNode, work);
}

CUresult shim_cuGraphKernelNodeSetParams_v2(CUgraphNode hNode,
                                            const CUDA_KERNEL_NODE_PARAMS *nodeParams) {
  struct work work;
  CUresult result = params_kernel(nodeParams, &work);
  return result ? result : set_kernel(hNode, &work);
}

CUresult shim_cuGraphKernelNodeSetParams(CUgraphNode hNode,
                                         const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams) {
  struct work work;
  CUresult result = params_kernel_v1(nodeParams, &work);
  return result ? result : set_kernel(hNode, &work);
}

// Copies and fills

CUresult shim_cuGraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                   const CUgraphNode *dependencies, size_t numDependencies,
                                   const CUDA_MEMCPY3D *copyParams, CUcontext ctx) {
  struct work work;
  CUresult result = params_copy(copyParams, ctx, &work);
  return result ? result : add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &work);
}

CUresult shim_cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D *nodeParams) {
  if (!nodeParams) return CUDA_ERROR_INVALID_VALUE;
  const struct graph_node *node = begin_get(hNode, NODE_MEMCPY);
  if (node) *nodeParams = node->work.copy;
  return end_get(node);
}

CUresult shim_cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D *nodeParams) {
  struct work work;
  CUresult result = params_copy(nodeParams, NULL, &work);
  return result ? result : set(hNode, &work);
}

CUresult shim_cuGraphAddMemsetNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                   const CUgraphNode *dependencies, size_t numDependencies,
                                   const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx) {
  struct work work;
  CUresult result = params_fill(memsetParams, ctx, &work);
  return result ? result : add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &work);
}

CUresult shim_cuGraphMemsetNodeGetParams(CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS *nodeParams) {
  if (!nodeParams) return CUDA_ERROR_INVALID_VALUE;
  const struct graph_node *node = begin_get(hNode, NODE_MEMSET);
  if (node) *nodeParams = node->work.fill;
  return end_get(node);
}

CUresult shim_cuGraphMemsetNodeSetParams(CUgraphNode hNode,
                                         const CUDA_MEMSET_NODE_PARAMS *nodeParams) {
  struct work work;
  CUresult result = params_fill(nodeParams, NULL, &work);
  return result ? result : set(hNode, &work);
}

// Host functions

CUresult shim_cuGraphAddHostNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                 const CUgraphNode *dependencies, size_t numDependencies,
                                 const CUDA_HOST_NODE_PARAMS *nodeParams) {
  struct work work;
  CUresult result = params_host(nodeParams, &work);
  return result ? result : add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &work);
}

CUresult shim_cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS *nodeParams) {
  if (!nodeParams) return CUDA_ERROR_INVALID_VALUE;
  const struct graph_node *node = begin_get(hNode, NODE_HOST);
  if (node) *nodeParams = node->work.host;
  return end_get(node);
}

CUresult shim_cuGraphHostNodeSetParams(CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS *nodeParams) {
  struct work work;
  CUresult result = params_host(nodeParams, &work);
  return result ? result : set(hNode, &work);
}

// Child graphs and nothing

CUresult shim_cuGraphAddChildGraphNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                       const CUgraphNode *dependencies, size_t numDependencies,
                                       CUgraph childGraph) {
  struct work work;
  CUresult result = params_child(childGraph, &work);
  return result ? result : add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &work);
}

CUresult shim_cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph *phGraph) {
  if (!phGraph) return CUDA_ERROR_INVALID_VALUE;
  const struct graph_node *node = begin_get(hNode, NODE_CHILD);
  if (node) *phGraph = (CUgraph)(void *)node->work.child;
  return end_get(node);
}

CUresult shim_cuGraphAddEmptyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                  const CUgraphNode *dependencies, size_t numDependencies) {
  struct work work = work_make(NODE_EMPTY, NULL);
  return add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &work);
}

// Events

static CUresult add_event(CUgraphNode *made, CUgraph graph, const CUgraphNode *dependencies,
                          size_t count, int type, CUevent event) {
  struct work work;
  CUresult result = params_event(type, event, &work);
  return result ? result : add(made, graph, dependencies, NULL, count, &work);
}

static CUresult get_event(CUgraphNode handle, int type, CUevent *event) {
  if (!event) return CUDA_ERROR_INVALID_VALUE;
  const struct graph_node *node = begin_get(handle, type);
  if (node) *event = node->work.event;
  return end_get(node);
}

static CUresult set_event(CUgraphNode handle, int type, CUevent event) {
  struct work work;
  CUresult result = params_event(type, event, &work);
  return result ? result : set(handle, &work);
}

CUresult shim_cuGraphAddEventRecordNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                        const CUgraphNode *dependencies, size_t numDependencies,
                                        CUevent event) {
  return add_event(phGraphNode, hGraph, dependencies, numDependencies, NODE_EVENT_RECORD, event);
}

CUresult shim_cuGraphEventRecordNodeGetEvent(CUgraphNode hNode, CUevent *event_out) {
  return get_event(hNode, NODE_EVENT_RECORD, event_out);
}

CUresult shim_cuGraphEventRecordNodeSetEvent(CUgraphNode hNode, CUevent event) {
  return set_event(hNode, NODE_EVENT_RECORD, event);
}

CUresult shim_cuGraphAddEventWaitNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                      const CUgraphNode *dependencies, size_t numDependencies,
                                      CUevent event) {
  return add_event(phGraphNode, hGraph, dependencies, numDependencies, NODE_EVENT_WAIT, event);
}

CUresult shim_cuGraphEventWaitNodeGetEvent(CUgraphNode hNode, CUevent *event_out) {
  return get_event(hNode, NODE_EVENT_WAIT, event_out);
}

CUresult shim_cuGraphEventWaitNodeSetEvent(CUgraphNode hNode, CUevent event) {
  return set_event(hNode, NODE_EVENT_WAIT, event);
}

// Memory

CUresult shim_cuGraphAddMemAllocNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                     const CUgraphNode *dependencies, size_t numDependencies,
                                     CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams) {
  struct work work;
  CUresult result = params_alloc(nodeParams, &work);
  return result ? result : add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &work);
}

CUresult shim_cuGraphMemAllocNodeGetParams(CUgraphNode hNode,
                                           CUDA_MEM_ALLOC_NODE_PARAMS *params_out) {
  if (!params_out) return CUDA_ERROR_INVALID_VALUE;
  const struct graph_node *node = begin_get(hNode, NODE_MEM_ALLOC);
  if (node) *params_out = node->work.alloc.params;
  return end_get(node);
}

CUresult shim_cuGraphAddMemFreeNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                    const CUgraphNode *dependencies, size_t numDependencies,
                                    CUdeviceptr dptr) {
  struct work work;
  CUresult result = params_free(dptr, &work);
  return result ? result : add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &work);
}

CUresult shim_cuGraphMemFreeNodeGetParams(CUgraphNode hNode, CUdeviceptr *dptr_out) {
  if (!dptr_out) return CUDA_ERROR_INVALID_VALUE;
  const struct graph_node *node = begin_get(hNode, NODE_MEM_FREE);
  if (node) *dptr_out = node->work.freed;
  return end_get(node);
}

// Memory operations

CUresult shim_cuGraphAddBatchMemOpNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                       const CUgraphNode *dependencies, size_t numDependencies,
                                       const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams) {
  struct work work;
  CUresult result = params_memory(nodeParams, &work);
  return result ? result : add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &work);
}

CUresult shim_cuGraphBatchMemOpNodeGetParams(CUgraphNode hNode,
                                             CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams_out) {
  if (!nodeParams_out) return CUDA_ERROR_INVALID_VALUE;
  const struct graph_node *node = begin_get(hNode, NODE_MEM_OPS);
  if (node) {
    *nodeParams_out = (CUDA_BATCH_MEM_OP_NODE_PARAMS){
        .ctx = (CUcontext)(void *)node->work.context,
        .count = node->work.memory.count,
        .paramArray = node->work.memory.operations,
    };
  }
  return end_get(node);
}

CUresult shim_cuGraphBatchMemOpNodeSetParams(CUgraphNode hNode,
                                             const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams) {
  struct work work;
  CUresult result = params_memory(nodeParams, &work);
  return result ? result : set(hNode, &work);
}
