// SPDX-License-Identifier: Apache-2.0
// Streams: created ones, each thread's own, and the two special handles.
#pragma once

#include "context/context.h"
#include "core/handles.h"
#include "stream/capture_interface.h"

enum { STREAM_GREATEST_PRIORITY = -5, STREAM_NON_BLOCKING = 1 };

struct capture;

struct stream {
  struct slot slot;
  unsigned int flags;
  int priority;
  struct context *context;
  uint64_t id;  // never used again
  struct stream_attributes attributes;
  // While it captures; guarded by the graph lock
  struct capture *capture;
  struct stream *nextCapturing;  // of the same capture
  struct edges frontier;         // what the next node follows
};

extern struct arena streams;

/** A created stream or a thread's own; NULL for the legacy default stream. */
CUresult stream_of(CUstream handle, struct context **context, struct stream **stream);

/** A priority that streams of a context can have. */
int stream_priority(const struct context *context, int priority);

CUresult stream_make(struct context *context, unsigned int flags, int priority, struct stream **made);

/** The number of a stream of the shim's own, which waits for no other: made at the first question, and kept. */
CUresult stream_internal(struct context *context, _Atomic uint32_t *kept, uint32_t *number);

/** Ends a stream; its handle is bad from now on. */
CUresult stream_discard(struct stream *stream);

/** The number of a stream, for work that no capture takes. *context as for stream_find. */
CUresult stream_number(CUstream handle, struct context **context, uint32_t *number);

/**
 * The stream of a handle; NULL for the legacy default stream. *context is the current context or NULL; the stream's
 * own takes its place if there is none, or if the stream is of another connection.
 */
CUresult stream_find(CUstream handle, struct context **context, struct stream **stream);

/** Waits for what is in a stream. */
CUresult stream_wait(struct context *context, uint32_t number);
