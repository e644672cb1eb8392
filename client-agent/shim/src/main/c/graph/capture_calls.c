// SPDX-License-Identifier: Apache-2.0
// The calls that begin, end, describe and steer captures.
#include "graph/capture.h"
#include "graph/user_object.h"
#include "shim.h"
#include "stream/stream.h"

#include <stdlib.h>

enum { SET_DEPENDENCIES = 1 };  // of CUstreamUpdateCaptureDependencies_flags

/** The stream of a handle, which is not the legacy one. */
static CUresult find(CUstream handle, struct stream **stream) {
  struct context *context;
  CUresult result = context_or_none(&context);
  if (!result) result = stream_find(handle, &context, stream);
  return result;
}

static CUresult begin_in(struct stream *stream, struct graph *graph, bool own,
                         const struct edges *frontier, int mode) {
  if (stream->capture || graph->capturing) return CUDA_ERROR_ILLEGAL_STATE;
  if (frontier && !edges_copy(&stream->frontier, frontier)) return CUDA_ERROR_OUT_OF_MEMORY;
  struct capture *capture = capture_begin(stream, graph, own, mode);
  if (capture) return CUDA_SUCCESS;
  edges_clear(&stream->frontier);
  return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult begin(CUstream handle, CUstreamCaptureMode mode, struct stream **stream) {
  if (mode < CAPTURE_GLOBAL || mode > CAPTURE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  // A capture knows its thread by this.
  if (!thread_self()) return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult result = find(handle, stream);
  return result ? result : *stream ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult shim_cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode) {
  struct stream *stream;
  CUresult result = begin(hStream, mode, &stream);
  if (result) return result;
  lock_take(&graphLock);
  struct graph *graph = graph_make();
  result = graph ? begin_in(stream, graph, true, NULL, mode) : CUDA_ERROR_OUT_OF_MEMORY;
  if (result && graph) graph_free(graph);
  lock_release(&graphLock);
  return result;
}

/** Nodes of a graph as edges to come. */
static CUresult gather(const struct graph *graph, const CUgraphNode *nodes,
                       const CUgraphEdgeData *data, size_t count, struct edges *edges) {
  if (count && !nodes) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; i++) {
    struct graph_node *node = node_find(nodes[i]);
    if (!node || node->graph != graph) return CUDA_ERROR_INVALID_VALUE;
    if (!edges_have(edges, nodes[i]) && !edges_add(edges, nodes[i], data ? &data[i] : NULL)) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  return CUDA_SUCCESS;
}

CUresult shim_cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph,
                                          const CUgraphNode *dependencies,
                                          const CUgraphEdgeData *dependencyData,
                                          size_t numDependencies, CUstreamCaptureMode mode) {
  struct stream *stream;
  struct edges frontier = {0};
  CUresult result = begin(hStream, mode, &stream);
  if (result) return result;
  lock_take(&graphLock);
  struct graph *graph = graph_find(hGraph);
  if (!graph) result = CUDA_ERROR_INVALID_VALUE;
  if (!result) result = gather(graph, dependencies, dependencyData, numDependencies, &frontier);
  if (!result) result = begin_in(stream, graph, false, &frontier, mode);
  edges_clear(&frontier);
  lock_release(&graphLock);
  return result;
}

/** Marks all nodes that come before these, and them. */
static void mark_before(const struct edges *frontier, uint64_t stamp, struct graph_node **pending) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < frontier->count; i++) pending[count++] = node_at(frontier, i);
  for (uint32_t i = 0; i < count; i++) pending[i]->mark = stamp;
  while (count) {
    const struct graph_node *node = pending[--count];
    for (uint32_t i = 0; i < node->in.count; i++) {
      struct graph_node *before = node_at(&node->in, i);
      if (before->mark == stamp) continue;
      before->mark = stamp;
      pending[count++] = before;
    }
  }
}

static bool all_marked(const struct edges *frontier, uint64_t stamp) {
  for (uint32_t i = 0; i < frontier->count; i++) {
    if (node_at(frontier, i)->mark != stamp) return false;
  }
  return true;
}

/** Returns whether all that other streams of the capture have done comes before the end of this one. */
static CUresult check_joined(const struct capture *capture) {
  struct graph_node **pending = malloc((capture->graph->count + 1) * sizeof(struct graph_node *));
  if (!pending) return CUDA_ERROR_OUT_OF_MEMORY;
  uint64_t stamp = graph_stamp();
  mark_before(&capture->origin->frontier, stamp, pending);
  free(pending);
  bool joined = all_marked(&capture->left, stamp);
  for (const struct stream *stream = capture->streams; stream; stream = stream->nextCapturing) {
    joined = joined && all_marked(&stream->frontier, stamp);
  }
  return joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
}

/** The graph is wanted unless NULL, or if it was there before. The graph lock is held. */
static CUresult end(struct stream *stream, CUgraph *graph) {
  struct capture *capture = stream->capture;
  if (!capture) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != stream) {
    return capture_invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  }
  if (capture->mode != CAPTURE_RELAXED && capture->thread != ownThread) {
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  CUresult result =
      capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : check_joined(capture);
  if (!result && graph) *graph = (CUgraph)(void *)capture->graph;
  capture_end(capture, !result && graph);
  return result;
}

CUresult shim_cuStreamEndCapture(CUstream hStream, CUgraph *phGraph) {
  struct stream *stream;
  if (phGraph) *phGraph = NULL;
  CUresult result = find(hStream, &stream);
  if (result) return result;
  if (!stream) return CUDA_ERROR_ILLEGAL_STATE;
  lock_take(&graphLock);
  result = end(stream, phGraph);
  lock_release(&graphLock);
  user_objects_run();
  return result;
}

/** The state of a stream's capture; the lists are the stream's own. */
struct capture_info {
  int status;
  uint64_t id;
  struct graph *graph;
  const struct edges *frontier;
};

static CUresult describe(CUstream handle, struct capture_info *info) {
  struct context *context;
  struct stream *stream;
  *info = (struct capture_info){.status = STATUS_NONE};
  CUresult result = context_or_none(&context);
  if (!result) result = stream_find(handle, &context, &stream);
  if (result || !captures_active()) return result;
  lock_take(&graphLock);
  if (!stream) {
    if (capture_implied(context)) result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  } else if (stream->capture) {
    info->status = stream->capture->invalid ? STATUS_INVALIDATED : STATUS_ACTIVE;
    info->id = stream->capture->id;
    info->graph = stream->capture->graph;
    info->frontier = &stream->frontier;
  }
  lock_release(&graphLock);
  return result;
}

CUresult shim_cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus) {
  struct capture_info info;
  if (!captureStatus) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = describe(hStream, &info);
  if (!result) *captureStatus = info.status;
  return result;
}

CUresult shim_cuStreamGetCaptureInfo_v3(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                        cuuint64_t *id_out, CUgraph *graph_out,
                                        const CUgraphNode **dependencies_out,
                                        const CUgraphEdgeData **edgeData_out,
                                        size_t *numDependencies_out) {
  struct capture_info info;
  if (!captureStatus_out || (edgeData_out && !dependencies_out)) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = describe(hStream, &info);
  if (result) return result;
  const struct edges *frontier = info.frontier;
  if (frontier && dependencies_out && !edgeData_out && edges_annotated(frontier)) {
    return CUDA_ERROR_LOSSY_QUERY;
  }
  *captureStatus_out = info.status;
  if (id_out) *id_out = info.id;
  if (graph_out) *graph_out = (CUgraph)(void *)info.graph;
  if (dependencies_out) *dependencies_out = frontier ? frontier->nodes : NULL;
  if (edgeData_out) *edgeData_out = frontier ? frontier->data : NULL;
  if (numDependencies_out) *numDependencies_out = frontier ? frontier->count : 0;
  return CUDA_SUCCESS;
}

/** The graph lock is held. */
static CUresult update(struct stream *stream, const CUgraphNode *nodes, const CUgraphEdgeData *data,
                       size_t count, bool replace) {
  struct edges frontier = {0};
  struct capture *capture = stream->capture;
  if (!capture) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!replace && !edges_copy(&frontier, &stream->frontier)) return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult result = gather(capture->graph, nodes, data, count, &frontier);
  if (result) {
    edges_clear(&frontier);
    return result;
  }
  edges_clear(&stream->frontier);
  stream->frontier = frontier;
  return CUDA_SUCCESS;
}

CUresult shim_cuStreamUpdateCaptureDependencies_v2(CUstream hStream, CUgraphNode *dependencies,
                                                   const CUgraphEdgeData *dependencyData,
                                                   size_t numDependencies, unsigned int flags) {
  struct stream *stream;
  if (flags > SET_DEPENDENCIES) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = find(hStream, &stream);
  if (result) return result;
  if (!stream) return CUDA_ERROR_ILLEGAL_STATE;
  lock_take(&graphLock);
  result = update(stream, dependencies, dependencyData, numDependencies, flags == SET_DEPENDENCIES);
  lock_release(&graphLock);
  return result;
}

CUresult shim_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  struct thread *thread = thread_self();
  if (!mode || *mode < CAPTURE_GLOBAL || *mode > CAPTURE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  if (!thread) return CUDA_ERROR_OUT_OF_MEMORY;
  int before = thread->captureMode;
  thread->captureMode = *mode;
  *mode = before;
  return CUDA_SUCCESS;
}
