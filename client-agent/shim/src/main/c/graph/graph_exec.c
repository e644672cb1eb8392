// SPDX-License-Identifier: Apache-2.0
#include "graph/graph_exec.h"

#include "core/log.h"
#include "graph/graph_collective.h"
#include "graph/graph_conditional.h"
#include "graph/graph_memory_use.h"
#include "graph/graph_send.h"
#include "graph/user_object.h"
#include "memory/memcpy.h"
#include "memory/memcpy2d.h"
#include "ops.h"
#include "shim.h"
#include "stream/capture_interface.h"
#include "stream/event.h"
#include "stream/host_func.h"
#include "stream/launch_blocking.h"
#include "stream/route.h"
#include "stream/stream.h"
#include "stream/work_hooks.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

ARENA(graphExecs, graph_exec, 1 << 16, 0x45584331);

// CUgraphInstantiate_flags
enum { AUTO_FREE = 1, UPLOAD = 2, DEVICE_LAUNCH = 4, NODE_PRIORITY = 8 };

// CUgraphInstantiateResult
enum { INSTANTIATED = 0, INSTANTIATE_ERROR = 1, INVALID_STRUCTURE = 2 };

struct graph_exec *exec_find(CUgraphExec handle) { return arena_find(&graphExecs, handle); }

/** Frees the parts of an executable graph that nobody else knows any more. */
static void release(struct graph_exec *exec) {
  bool gone = !exec->context || !slot_is_live(&exec->context->slot, &contexts) ||
              exec->context->id != exec->contextId;
  struct conditions *conditions = exec->graph ? exec->graph->conditions : NULL;
  for (uint32_t i = 0; i < exec->plan.phaseCount && !gone; i++) {
    uint32_t number = exec->plan.phases[i].graph;
    if (conditions && number == conditions->number) {
      op_graphReset(exec->context->number, number);
    } else if (number) {
      op_graphDestroy(exec->context->number, number);
    }
  }
  if (exec->order && !gone) {
    op_eventDestroy(exec->context->number, exec->order->slot.number);
    arena_give(&events, exec->order);
  }
  plan_free(&exec->plan);
  lock_take(&graphLock);
  if (conditions) conditions->busy = false;
  if (exec->claims) graph_memory_unclaim(exec->graph);
  if (exec->graph) graph_free(exec->graph);
  lock_release(&graphLock);
}

/** The node that a node of an executable graph, or the child graph it is in, was made of. */
static CUgraphNode blame(CUgraph handle, const struct graph_node *fault) {
  CUgraphNode blamed = NULL;
  if (!fault) return NULL;
  while (fault->graph->parent) fault = fault->graph->parent;
  lock_take(&graphLock);
  const struct graph *graph = graph_find(handle);
  for (uint32_t i = 0; graph && i < graph->count && !blamed; i++) {
    if (graph->nodes[i]->id == fault->original) blamed = node_handle(graph->nodes[i]);
  }
  lock_release(&graphLock);
  return blamed;
}

/** The context that launches are made in unless their stream says another: of some node, or current. */
static CUresult choose_context(struct graph_exec *exec) {
  CUresult result = context_or_none(&exec->context);
  for (uint32_t i = 0; !result && !exec->context && i < exec->graph->count; i++) {
    const struct work *work = &exec->graph->nodes[i]->work;
    if (work->context) result = work_context(work, &exec->context);
  }
  if (!result && !exec->context) result = CUDA_ERROR_INVALID_CONTEXT;
  if (!result) exec->contextId = exec->context->id;
  return result;
}

/** A graph is one server's: CUDA_ERROR_NOT_SUPPORTED if something of it is of another connection than *connection. */
static CUresult check_owner(const struct context *owner, uint32_t *connection) {
  if (!owner) return CUDA_SUCCESS;
  uint32_t own = owner->number >> CONNECTION_SHIFT;
  if (*connection == MAX_CONNECTIONS) *connection = own;
  return *connection == own ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

static struct context *copied(int memoryType, CUdeviceptr device) {
  bool address = memoryType == CU_MEMORYTYPE_DEVICE || memoryType == CU_MEMORYTYPE_UNIFIED;
  return address ? memory_context(device, NULL) : NULL;
}

static CUresult check_connections(const struct graph *graph, uint32_t *connection) {
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; !result && i < graph->count; i++) {
    const struct work *work = &graph->nodes[i]->work;
    const CUDA_MEMCPY3D *copy = &work->copy;
    const struct event *event;
    struct context *own = NULL;
    if (work->type == NODE_CHILD) {
      result = check_connections(work->child, connection);
      continue;
    }
    if (work->context && (work->type == NODE_KERNEL || work->type == NODE_COLLECTIVE)) result = work_context(work, &own);
    if (!result) result = check_owner(own, connection);
    if (!result && work->type == NODE_MEMCPY) {
      result = check_owner(copied(copy->srcMemoryType, copy->srcDevice), connection);
      if (!result) result = check_owner(copied(copy->dstMemoryType, copy->dstDevice), connection);
    } else if (!result && work->type == NODE_MEMSET) {
      result = check_owner(memory_context(work->fill.dst, NULL), connection);
    } else if (!result && (work->type == NODE_EVENT_RECORD || work->type == NODE_EVENT_WAIT)) {
      event = arena_find(&events, work->event);
      result = check_owner(event ? event->context : NULL, connection);
    }
  }
  return result;
}

/** Moves the context to the connection that has all of the graph, if there are several. */
static CUresult settle_on_connection(struct graph_exec *exec) {
  uint32_t connection = MAX_CONNECTIONS;
  CUresult result = check_connections(exec->graph, &connection);
  if (result || connection == MAX_CONNECTIONS || connection == exec->context->number >> CONNECTION_SHIFT) return result;
  exec->context = context_any_of(connection);
  if (!exec->context) return CUDA_ERROR_INVALID_CONTEXT;
  exec->contextId = exec->context->id;
  return CUDA_SUCCESS;
}

static CUresult take_copy(struct graph_exec *exec, CUgraph handle) {
  CUresult result = CUDA_SUCCESS;
  lock_take(&graphLock);
  const struct graph *graph = graph_find(handle);
  if (!graph || graph_captures(graph) || (graph->conditions && graph->conditions->busy)) {
    result = CUDA_ERROR_INVALID_VALUE;
  } else {
    exec->graph = graph_copy(graph);
    exec->claims = exec->graph && graph->allocates && graph_memory_claim(exec->graph);
    if (!exec->graph) {
      result = CUDA_ERROR_OUT_OF_MEMORY;
    } else if (graph->allocates && !exec->claims) {
      result = CUDA_ERROR_INVALID_VALUE;  // there is an executable graph of it already
    } else if (graph->conditions) {
      exec->graph->conditions = graph->conditions;
      graph->conditions->references++;
      graph->conditions->busy = true;
    }
  }
  lock_release(&graphLock);
  return result;
}

static CUresult build(struct graph_exec *exec, CUgraph handle, struct graph_node **fault) {
  CUresult result = take_copy(exec, handle);
  if (!result) result = collective_check(exec->graph);
  if (!result) result = choose_context(exec);
  if (!result && connections_several()) result = settle_on_connection(exec);
  if (!result) result = plan_make(&exec->plan, exec->graph, fault);
  if (!result) result = conditional_plan(&exec->plan, fault);
  if (!result && exec->graph->conditions && exec->plan.phaseCount > 1 &&
      exec->plan.phases[1].count) {
    exec->plan.phases[1].graph = exec->graph->conditions->number;
  }
  for (uint32_t i = 0; i < exec->plan.phaseCount && !result; i++) {
    struct phase *phase = &exec->plan.phases[i];
    if (!phase->count) continue;
    if (i % 2 == 0 || i > 1) exec->mixed = true;
    if (i % 2 == 1) {
      result = send_phase(&exec->plan, phase, exec->context, exec->flags & NODE_PRIORITY, fault);
    }
  }
  return result;
}

static CUresult instantiate(CUgraphExec *made, CUgraph graph, uint64_t flags, CUgraphNode *blamed) {
  struct graph_node *fault = NULL;
  if (!made || flags & ~(uint64_t)(AUTO_FREE | UPLOAD | DEVICE_LAUNCH | NODE_PRIORITY)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (flags & DEVICE_LAUNCH) {
    if (flags & AUTO_FREE) return CUDA_ERROR_INVALID_VALUE;
    static _Atomic int warned;
    if (!atomic_exchange_explicit(&warned, 1, memory_order_relaxed)) {
      log_line(LOG_WARN, "graphs cannot be launched by the device (CUDA_ERROR_NOT_SUPPORTED)");
    }
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  struct graph_exec *exec = arena_take(&graphExecs);
  if (!exec) return CUDA_ERROR_OUT_OF_MEMORY;
  exec->flags = flags;
  CUresult result = build(exec, graph, &fault);
  if (result && blamed) *blamed = blame(graph, fault);
  arena_publish(&graphExecs, exec);
  if (result) {
    release(exec);
    arena_give(&graphExecs, exec);
  } else {
    *made = (CUgraphExec)(void *)exec;
  }
  return result;
}

CUresult shim_cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph,
                                          unsigned long long flags) {
  return flags & UPLOAD ? CUDA_ERROR_INVALID_VALUE : instantiate(phGraphExec, hGraph, flags, NULL);
}

CUresult shim_cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph,
                                    CUgraphNode *phErrorNode, char *logBuffer, size_t bufferSize) {
  if (phErrorNode) *phErrorNode = NULL;
  if (logBuffer && bufferSize) *logBuffer = 0;
  return instantiate(phGraphExec, hGraph, 0, phErrorNode);
}

CUresult shim_cuGraphInstantiateWithParams(CUgraphExec *phGraphExec, CUgraph hGraph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams,
                                           CUstream implied) {
  (void)implied;
  if (!instantiateParams) return CUDA_ERROR_INVALID_VALUE;
  instantiateParams->hErrNode_out = NULL;
  CUresult result = instantiate(phGraphExec, hGraph, instantiateParams->flags,
                                &instantiateParams->hErrNode_out);
  instantiateParams->result_out = !result                              ? INSTANTIATED
                                  : result == CUDA_ERROR_INVALID_VALUE ? INVALID_STRUCTURE
                                                                       : INSTANTIATE_ERROR;
  if (!result && instantiateParams->flags & UPLOAD) {
    result = shim_cuGraphUpload(*phGraphExec, instantiateParams->hUploadStream);
  }
  return result;
}

CUresult shim_cuGraphExecDestroy(CUgraphExec hGraphExec) {
  struct graph_exec *exec = exec_find(hGraphExec);
  if (!exec) return CUDA_ERROR_INVALID_VALUE;
  lock_take(&exec->lock);
  bool first = arena_find(&graphExecs, exec) != NULL;
  // The program's objects that a launch under way uses have to stay until it is over.
  if (first && exec->launched && exec->graph->references && exec->context->id == exec->contextId) {
    op_ctxSynchronize(exec->context->number);
  }
  if (first) {
    release(exec);
    arena_give(&graphExecs, exec);
  }
  lock_release(&exec->lock);
  user_objects_run();
  return first ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Launches

static void copy_on_host(void *copy) {
  memcpy3d_on_host(copy);
  free(copy);
}

/** Puts what the host has to do into a stream. */
static CUresult post_host(const struct graph_node *node, struct context *context, uint32_t stream) {
  const struct work *work = &node->work;
  enum copy3d_kind kind;
  if (node->disabled) return CUDA_SUCCESS;
  if (work->type == NODE_HOST) {
    return host_func_launch(context, stream, work->host.fn, work->host.userData);
  }
  if (work->type == NODE_MEM_OPS) {
    return op_streamMemoryOperations(
        context->number, stream, work->memory.operations,
        (uint64_t)work->memory.count * CUstreamBatchMemOpParams_BYTES);
  }
  if (work->type == NODE_COLLECTIVE) return collective_post(&work->collective, context, stream);
  CUresult result = memcpy3d_kind(&work->copy, &kind);
  if (result) return result;
  if (kind != COPY3D_ON_HOST) return memcpy3d_post(context, stream, &work->copy);
  CUDA_MEMCPY3D *copy = malloc(sizeof *copy);
  if (!copy) return CUDA_ERROR_OUT_OF_MEMORY;
  *copy = work->copy;
  result = host_func_launch(context, stream, (CUhostFn)copy_on_host, copy);
  if (result) free(copy);
  return result;
}

static CUresult post_phases(struct graph_exec *exec, struct context *context, uint32_t stream) {
  const struct plan *plan = &exec->plan;
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < plan->phaseCount && !result; i++) {
    const struct phase *phase = &plan->phases[i];
    if (phase->graph) result = op_graphLaunch(context->number, phase->graph, stream);
    if (i % 2 == 1) continue;
    for (uint32_t j = 0; j < phase->count && !result; j++) {
      result = post_host(plan->steps[plan->order[phase->first + j]].node, context, stream);
    }
  }
  return result;
}

/** Launches of one graph come one after the other, in whatever streams. */
static CUresult post_in_order(struct graph_exec *exec, struct context *context, uint32_t stream) {
  if (!connection_same(context->number, exec->context->number)) return CUDA_ERROR_NOT_SUPPORTED;
  CUresult result = before_submit(context, stream);
  if (result) return result;
  if (!exec->mixed || context != exec->context) return post_phases(exec, context, stream);
  if (!exec->order) {
    exec->order = event_make_internal(context);
    if (!exec->order) return CUDA_ERROR_OUT_OF_MEMORY;
  } else if (exec->lastStream != stream) {
    result = op_streamWaitEvent(context->number, stream, exec->order->slot.number, 0);
  }
  if (!result) result = post_phases(exec, context, stream);
  if (!result) result = op_eventRecord(context->number, exec->order->slot.number, stream, 0);
  exec->lastStream = stream;
  return result;
}

/** Captures a launch, as a child graph. */
static CUresult capture_launch(struct stream *stream, const struct graph_exec *exec) {
  struct work work = work_make(NODE_CHILD, stream->context);
  if (exec->claims || exec->graph->conditions) return capture_refuse_stream(stream->context, stream);
  lock_take(&graphLock);
  work.child = graph_copy(exec->graph);
  lock_release(&graphLock);
  return work.child ? capture_add(stream, &work) : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult shim_cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream) {
  struct context *context;
  uint32_t stream;
  struct graph_exec *exec = exec_find(hGraphExec);
  if (!exec) return CUDA_ERROR_INVALID_VALUE;
  struct stream *capturing = capture_stream(hStream);
  if (UNLIKELY(capturing != NULL)) return capture_launch(capturing, exec);
  CUresult result = copy_begin(hStream, &context, &stream);
  if (result) return result;
  lock_take(&exec->lock);
  if (exec->claims) {
    lock_take(&graphLock);
    result = graph_memory_launch(exec->graph, exec->flags & AUTO_FREE);
    lock_release(&graphLock);
  }
  if (!result) result = post_in_order(exec, context, stream);
  exec->launched = true;
  lock_release(&exec->lock);
  return blocking_after(result, hStream);
}

CUresult shim_cuGraphUpload(CUgraphExec hGraphExec, CUstream hStream) {
  struct context *context;
  uint32_t stream;
  struct graph_exec *exec = exec_find(hGraphExec);
  if (!exec) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = copy_begin(hStream, &context, &stream);
  if (result) return result;
  if (!connection_same(context->number, exec->context->number)) return CUDA_ERROR_NOT_SUPPORTED;
  lock_take(&exec->lock);
  for (uint32_t i = 0; i < exec->plan.phaseCount && !result; i++) {
    uint32_t graph = exec->plan.phases[i].graph;
    if (graph) result = op_graphUpload(context->number, graph, stream);
  }
  lock_release(&exec->lock);
  return result;
}
