// SPDX-License-Identifier: Apache-2.0
// Captures under way: the streams that take part in each, and the graph that it makes. Callers hold the graph lock.
#pragma once

#include "context/thread.h"
#include "graph/graph.h"
#include "stream/capture_interface.h"
#include "stream/stream.h"

// CUstreamCaptureMode and CUstreamCaptureStatus
enum { CAPTURE_GLOBAL = 0, CAPTURE_THREAD_LOCAL = 1, CAPTURE_RELAXED = 2 };
enum { STATUS_NONE = 0, STATUS_ACTIVE = 1, STATUS_INVALIDATED = 2 };

struct capture {
  struct capture *next;
  uint64_t id;  // never used again
  struct graph *graph;
  bool ownsGraph;  // nobody else knows the graph yet
  bool invalid;
  int mode;
  const struct thread *thread;  // the one that began it
  struct stream *origin;
  struct stream *streams;  // those that take part
  struct edges left;       // the last nodes of streams that took part and were destroyed
};

struct capture *capture_by_id(uint64_t id);

/** Begins a capture; returns NULL without memory. */
struct capture *capture_begin(struct stream *stream, struct graph *graph, bool own, int mode);

void capture_join(struct capture *capture, struct stream *stream);

/** Ends a capture: its streams are as before; its own graph is freed unless it is kept. */
void capture_end(struct capture *capture, bool keepGraph);

/** Makes a capture end with an error; returns the given result, or another if it was invalid before. */
CUresult capture_invalidate(struct capture *capture, CUresult result);

/** Returns whether the legacy default stream of a context would wait for a capturing stream. */
bool capture_implied(const struct context *context);
