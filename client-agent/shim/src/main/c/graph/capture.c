// SPDX-License-Identifier: Apache-2.0
#include "core/fork.h"
#include "graph/capture.h"
#include "graph/user_object.h"
#include "stream/capture_interface.h"
#include "stream/event.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

_Atomic uint32_t capturesActive;

static struct {
  struct capture *first;
  uint64_t lastId;
} all;

static void captures_reset(void) {
  capturesActive = 0;
  memset(&all, 0, sizeof all);
}

ON_FORK(captures_reset);

// The callers of these functions hold the graph lock.

struct capture *capture_by_id(uint64_t id) {
  struct capture *capture = all.first;
  while (capture && capture->id != id) capture = capture->next;
  return capture;
}

struct capture *capture_begin(struct stream *stream, struct graph *graph, bool own, int mode) {
  struct capture *capture = calloc(1, sizeof *capture);
  if (!capture) return NULL;
  *capture = (struct capture){.next = all.first,
                              .id = ++all.lastId,
                              .graph = graph,
                              .ownsGraph = own,
                              .mode = mode,
                              .thread = ownThread,
                              .origin = stream};
  graph->capturing = capture->id;
  all.first = capture;
  atomic_fetch_add(&capturesActive, 1);
  capture_join(capture, stream);
  return capture;
}

void capture_join(struct capture *capture, struct stream *stream) {
  stream->capture = capture;
  stream->nextCapturing = capture->streams;
  capture->streams = stream;
}

void capture_end(struct capture *capture, bool keepGraph) {
  struct capture **at = &all.first;
  while (*at != capture) at = &(*at)->next;
  *at = capture->next;
  for (struct stream *stream = capture->streams; stream;) {
    struct stream *next = stream->nextCapturing;
    edges_clear(&stream->frontier);
    stream->nextCapturing = NULL;
    stream->capture = NULL;
    stream = next;
  }
  edges_clear(&capture->left);
  capture->graph->capturing = 0;
  if (!keepGraph && capture->ownsGraph) graph_free(capture->graph);
  free(capture);
  atomic_fetch_sub(&capturesActive, 1);
}

CUresult capture_invalidate(struct capture *capture, CUresult result) {
  if (capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  capture->invalid = true;
  return result;
}

/** Returns whether a stream of a capture is one that the legacy default stream waits for. */
static bool implied(const struct capture *capture, const struct context *context) {
  for (const struct stream *stream = capture->streams; stream; stream = stream->nextCapturing) {
    if (stream->context == context && !(stream->flags & STREAM_NON_BLOCKING)) return true;
  }
  return false;
}

static bool takes_part(const struct capture *capture, const struct context *context) {
  for (const struct stream *stream = capture->streams; stream; stream = stream->nextCapturing) {
    if (stream->context == context) return true;
  }
  return false;
}

bool capture_implied(const struct context *context) {
  for (const struct capture *capture = all.first; capture; capture = capture->next) {
    if (implied(capture, context)) return true;
  }
  return false;
}

// These functions take the graph lock.

struct stream *capture_find(CUstream handle) {
  struct context *context;
  struct stream *stream = NULL;
  if (!handle || handle == CU_STREAM_LEGACY) return NULL;
  if (context_or_none(&context) || stream_find(handle, &context, &stream) || !stream) return NULL;
  lock_take(&graphLock);
  bool capturing = stream->capture != NULL;
  lock_release(&graphLock);
  return capturing ? stream : NULL;
}

CUresult capture_refuse_stream(const struct context *context, struct stream *stream) {
  CUresult result = CUDA_SUCCESS;
  lock_take(&graphLock);
  if (stream && stream->capture) {
    result = capture_invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  } else if (!stream) {
    for (struct capture *capture = all.first; capture; capture = capture->next) {
      if (!implied(capture, context)) continue;
      capture->invalid = true;
      result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
  }
  lock_release(&graphLock);
  return result;
}

CUresult capture_refuse_context(const struct context *context) {
  CUresult result = CUDA_SUCCESS;
  lock_take(&graphLock);
  for (struct capture *capture = all.first; capture; capture = capture->next) {
    if (!takes_part(capture, context)) continue;
    capture->invalid = true;
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  lock_release(&graphLock);
  return result;
}

CUresult capture_refuse_unsafe(void) {
  struct thread *thread = ownThread;
  int mode = thread ? thread->captureMode : CAPTURE_GLOBAL;
  CUresult result = CUDA_SUCCESS;
  if (mode == CAPTURE_RELAXED) return CUDA_SUCCESS;
  lock_take(&graphLock);
  for (struct capture *capture = all.first; capture; capture = capture->next) {
    bool forbids = capture->thread == thread
                       ? capture->mode != CAPTURE_RELAXED
                       : mode == CAPTURE_GLOBAL && capture->mode == CAPTURE_GLOBAL;
    if (!forbids) continue;
    capture->invalid = true;
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  lock_release(&graphLock);
  return result;
}

CUresult capture_refuse_event(const struct event *event) {
  CUresult result = CUDA_SUCCESS;
  lock_take(&graphLock);
  if (event->captureId) {
    struct capture *capture = capture_by_id(event->captureId);
    if (capture) capture->invalid = true;
    result = CUDA_ERROR_CAPTURED_EVENT;
  }
  lock_release(&graphLock);
  return result;
}

/** Keeps the last nodes of a stream that goes: they are still to be joined. */
static bool leave(struct capture *capture, const struct stream *stream) {
  for (uint32_t i = 0; i < stream->frontier.count; i++) {
    CUgraphNode node = stream->frontier.nodes[i];
    if (!edges_have(&capture->left, node) && !edges_add(&capture->left, node, NULL)) return false;
  }
  return true;
}

void capture_discard(struct stream *stream, bool withContext) {
  lock_take(&graphLock);
  struct capture *capture = stream->capture;
  if (capture && capture->origin == stream) {
    capture_end(capture, false);
  } else if (capture) {
    if (withContext || !leave(capture, stream)) capture->invalid = true;
    struct stream **at = &capture->streams;
    while (*at != stream) at = &(*at)->nextCapturing;
    *at = stream->nextCapturing;
    stream->nextCapturing = NULL;
    stream->capture = NULL;
  }
  edges_clear(&stream->frontier);
  lock_release(&graphLock);
  user_objects_run();
}
