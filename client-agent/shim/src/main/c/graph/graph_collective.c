// SPDX-License-Identifier: Apache-2.0
#include "graph/graph_collective.h"

#include "core/log.h"
#include "graph/graph.h"

static CUresult check(const struct graph *graph, const struct context **found) {
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < graph->count && !result; i++) {
    const struct work *work = &graph->nodes[i]->work;
    if (work->type == NODE_CHILD) result = check(work->child, found);
    if (work->type != NODE_COLLECTIVE) continue;
    if (!*found) *found = work->context;
    if (*found == work->context) continue;
    log_line(LOG_WARN, "a graph has collectives of one GPU only: capture those of each GPU by themselves "
                       "(CUDA_ERROR_NOT_SUPPORTED)");
    result = CUDA_ERROR_NOT_SUPPORTED;
  }
  return result;
}

CUresult collective_check(const struct graph *graph) {
  const struct context *found = NULL;
  return check(graph, &found);
}

CUresult collective_post(const struct collective_work *work, struct context *context, uint32_t stream) {
  const struct communicator *communicator = arena_find(&communicators, work->communicator);
  if (!communicator || communicator->id != work->communicatorId) {
    log_line(LOG_ERROR, "a graph has a collective of a communicator that was destroyed");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  return communicator_send(communicator, context, stream, work->calls, work->count);
}
