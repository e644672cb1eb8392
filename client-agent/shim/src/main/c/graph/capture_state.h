// SPDX-License-Identifier: Apache-2.0
// The state of captures, shared by the calls that begin and end them and those that are captured. All of it needs the
// graph lock.
#pragma once

#include "context/thread.h"
#include "graph/graph.h"
#include "stream/capture.h"
#include "stream/stream.h"

// CUstreamCaptureMode and CUstreamCaptureStatus
enum { CAPTURE_GLOBAL = 0, CAPTURE_THREAD_LOCAL = 1, CAPTURE_RELAXED = 2 };
enum { STATUS_NONE = 0, STATUS_ACTIVE = 1, STATUS_INVALIDATED = 2 };

struct capture {
  struct capture *next;
  uint64_t id;  // never used again
  struct graph *graph;
  bool ownsGraph;  // nobody else knows it yet
  bool invalid;
  int mode;
  const struct thread *thread;  // that began it
  struct stream *origin;
  struct stream *streams;  // that take part
  struct edges left;       // the last nodes of those that did, and are gone
};

struct capture *capture_by_id(uint64_t id);

/** NULL: no memory. */
struct capture *capture_begin(struct stream *stream, struct graph *graph, bool own, int mode);

void capture_join(struct capture *capture, struct stream *stream);

/** Streams are as before; the graph stays, or goes if it is the capture's own. */
void capture_end(struct capture *capture, bool keepGraph);

/** Makes a capture end with an error; answers this result, or that it was so before. */
CUresult capture_invalidate(struct capture *capture, CUresult result);

/** Whether the legacy default stream of a context would wait for a capturing stream. */
bool capture_implied(const struct context *context);
