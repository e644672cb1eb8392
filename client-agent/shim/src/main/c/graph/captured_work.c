// SPDX-License-Identifier: Apache-2.0
// Work put into capturing streams: it becomes nodes of the captured graph. Part of stream/capture_interface.h.
#include "graph/capture.h"
#include "graph/graph_params.h"
#include "stream/capture_interface.h"
#include "stream/event.h"

enum { EXTERNAL = 1 };  // of CUevent_record_flags and CUevent_wait_flags

// The callers of these three functions hold the graph lock.

static CUresult add(struct stream *stream, struct work *work) {
  struct capture *capture = stream->capture;
  struct graph_node *node;
  struct edges next = {0};
  if (!capture) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  struct edges *frontier = &stream->frontier;
  CUresult result = graph_add(capture->graph, frontier->nodes, frontier->data, frontier->count,
                              work, &node);
  if (result) return capture_invalidate(capture, result);
  if (!edges_add(&next, node_handle(node), NULL)) return CUDA_ERROR_OUT_OF_MEMORY;
  edges_clear(frontier);
  *frontier = next;
  return CUDA_SUCCESS;
}

/** A stream goes on after what an event marks, too. */
static CUresult follow(struct stream *stream, const struct event *event) {
  for (uint32_t i = 0; i < event->frontier.count; i++) {
    CUgraphNode node = event->frontier.nodes[i];
    if (!edges_have(&stream->frontier, node) &&
        !edges_add(&stream->frontier, node, &event->frontier.data[i])) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  return CUDA_SUCCESS;
}

static CUresult wait_captured(struct stream *stream, const struct event *event) {
  struct capture *capture = capture_by_id(event->captureId);
  // The capture has ended, and nothing will ever reach what it recorded.
  if (!capture) {
    return stream && stream->capture
               ? capture_invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
               : CUDA_ERROR_CAPTURED_EVENT;
  }
  if (capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!stream) return capture_invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  if (!stream->capture) {
    capture_join(capture, stream);
  } else if (stream->capture != capture) {
    capture_invalidate(stream->capture, 0);
    return capture_invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
  }
  return follow(stream, event);
}

// These functions take the graph lock.

void capture_forget_event(struct event *event) {
  if (!event->captureId) return;
  lock_take(&graphLock);
  edges_clear(&event->frontier);
  event->captureId = 0;
  lock_release(&graphLock);
}

CUresult capture_add(struct stream *stream, struct work *work) {
  lock_take(&graphLock);
  CUresult result = add(stream, work);
  if (result) work_clear(work);
  lock_release(&graphLock);
  return result;
}

/** Refuses a call that cannot be captured as it is asked for. */
static CUresult refuse(struct stream *stream) {
  return capture_refuse_stream(stream->context, stream);
}

CUresult capture_kernel(struct stream *stream, CUfunction function, const struct launch *launch,
                        void **parameters, const void *packed, size_t packedBytes) {
  struct work work;
  CUresult result =
      work_kernel(&work, stream->context, function, launch, parameters, packed, packedBytes);
  return result ? result : capture_add(stream, &work);
}

CUresult capture_copy(struct stream *stream, uint64_t destination, int destinationType,
                      uint64_t source, int sourceType, size_t bytes, bool waits) {
  if (waits) return refuse(stream);
  if (!bytes) return CUDA_SUCCESS;
  if (!destination || !source) return CUDA_ERROR_INVALID_VALUE;
  struct work work = work_copy_linear(stream->context, destination, destinationType, source,
                                      sourceType, bytes);
  return capture_add(stream, &work);
}

CUresult capture_copy_3d(struct stream *stream, const CUDA_MEMCPY3D *copy, bool waits) {
  if (waits) return refuse(stream);
  struct work work = work_make(NODE_MEMCPY, stream->context);
  work.copy = *copy;
  return capture_add(stream, &work);
}

CUresult capture_fill(struct stream *stream, CUdeviceptr destination, size_t pitch,
                      unsigned int value, unsigned int elementBytes, size_t width, size_t height) {
  if (!width || !height) return CUDA_SUCCESS;
  struct work work = work_make(NODE_MEMSET, stream->context);
  work.fill = (CUDA_MEMSET_NODE_PARAMS){destination, pitch, value, elementBytes, width, height};
  return capture_add(stream, &work);
}

CUresult capture_allocate(struct stream *stream, size_t bytes, CUdeviceptr *address) {
  struct work work;
  CUresult result = params_alloc_in(stream->context, bytes, &work);
  if (result) return result;
  CUdeviceptr allocated = work.alloc.params.dptr;
  result = capture_add(stream, &work);
  if (!result) *address = allocated;
  return result;
}

CUresult capture_free(struct stream *stream, CUdeviceptr address) {
  struct work work;
  CUresult result = params_free(address, &work);
  return result ? result : capture_add(stream, &work);
}

CUresult capture_memory(struct stream *stream, const void *operations, unsigned int count) {
  struct work work;
  if (!work_memory(&work, stream->context, operations, count)) return CUDA_ERROR_OUT_OF_MEMORY;
  return capture_add(stream, &work);
}

CUresult capture_host(struct stream *stream, CUhostFn function, void *userData) {
  struct work work = work_make(NODE_HOST, stream->context);
  work.host = (CUDA_HOST_NODE_PARAMS){function, userData};
  return capture_add(stream, &work);
}

CUresult capture_collective(struct stream *stream, struct communicator *communicator,
                            const struct collective_call *calls, uint32_t count) {
  struct work work;
  if (!work_collective(&work, communicator, calls, count)) return CUDA_ERROR_OUT_OF_MEMORY;
  return capture_add(stream, &work);
}

CUresult capture_record(struct stream *stream, CUevent handle, struct event *event,
                        unsigned int flags) {
  if (flags & EXTERNAL) {
    struct work work = work_make(NODE_EVENT_RECORD, stream->context);
    work.event = handle;
    return capture_add(stream, &work);
  }
  CUresult result = CUDA_SUCCESS;
  lock_take(&graphLock);
  struct capture *capture = stream->capture;
  if (!capture) {
    result = CUDA_ERROR_ILLEGAL_STATE;
  } else if (capture->invalid) {
    result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  } else if (!edges_copy(&event->frontier, &stream->frontier)) {
    result = CUDA_ERROR_OUT_OF_MEMORY;
  } else {
    event->captureId = capture->id;
  }
  lock_release(&graphLock);
  return result;
}

CUresult capture_wait(struct stream *stream, CUevent eventHandle,
                      struct event *event, unsigned int flags) {
  CUresult result;
  lock_take(&graphLock);
  bool captured = event->captureId != 0;
  if (captured) {
    result = wait_captured(stream, event);
  } else if (flags & EXTERNAL) {
    struct work work = work_make(NODE_EVENT_WAIT, stream->context);
    work.event = eventHandle;
    result = add(stream, &work);
  } else {
    result = capture_invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  }
  lock_release(&graphLock);
  return result;
}
