// SPDX-License-Identifier: Apache-2.0
// The interface of stream capture, for the units that put work into streams: each asks first whether the stream is
// capturing, and if so hands the work over, which becomes a node of a graph and is not sent. Captures are made of
// graphs, so the functions are defined above those units, in graph/capture.c and graph/captured_work.c.
#pragma once

#include "core/driver.h"

#include <stdatomic.h>

struct collective_call;
struct communicator;
struct context;
struct event;
struct launch;
struct stream;
struct work;

/** Nodes with the data of an edge to each: the neighbours of a node on one side, or the last nodes of a stream. */
struct edges {
  CUgraphNode *nodes;
  CUgraphEdgeData *data;  // one a node
  uint32_t count, capacity;
};

/** The number of captures under way; read without the lock to pass over all that follows. */
extern _Atomic uint32_t capturesActive;

static inline bool captures_active(void) {
  return UNLIKELY(atomic_load_explicit(&capturesActive, memory_order_relaxed) > 0);
}

struct stream *capture_find(CUstream handle);

/** The stream of this handle if it is capturing, else NULL. */
static inline struct stream *capture_stream(CUstream handle) {
  return captures_active() ? capture_find(handle) : NULL;
}

/**
 * Returns the error with which a call that cannot be captured fails on a stream (NULL: the legacy one) that is
 * capturing, or would wait for one that is. The captures end with an error, too.
 */
CUresult capture_refuse_stream(const struct context *context, struct stream *stream);

/** Does the same for a call that waits for a whole context. */
CUresult capture_refuse_context(const struct context *context);

/** The error if the thread's capture mode forbids calls that no capture sees, such as allocating. */
CUresult capture_refuse_unsafe(void);

static inline CUresult capture_unsafe(void) {
  return captures_active() ? capture_refuse_unsafe() : CUDA_SUCCESS;
}

/** Adds a node to the capture of a stream. The work belongs to the node, or is freed, after this. */
CUresult capture_add(struct stream *stream, struct work *work);

CUresult capture_kernel(struct stream *stream, CUfunction function, const struct launch *launch,
                        void **parameters, const void *packed, size_t packedBytes);

/** Captures a copy of one row. waits: the call returns when the copy is done, so it cannot be captured. */
CUresult capture_copy(struct stream *stream, uint64_t destination, int destinationType,
                      uint64_t source, int sourceType, size_t bytes, bool waits);

CUresult capture_copy_3d(struct stream *stream, const CUDA_MEMCPY3D *copy, bool waits);

CUresult capture_fill(struct stream *stream, CUdeviceptr destination, size_t pitch,
                      unsigned int value, unsigned int elementBytes, size_t width, size_t height);

CUresult capture_allocate(struct stream *stream, size_t bytes, CUdeviceptr *address);
CUresult capture_free(struct stream *stream, CUdeviceptr address);
CUresult capture_memory(struct stream *stream, const void *operations, unsigned int count);
CUresult capture_host(struct stream *stream, CUhostFn function, void *userData);

/** Captures the calls of a communicator of NCCL that run as one. */
CUresult capture_collective(struct stream *stream, struct communicator *communicator,
                            const struct collective_call *calls, uint32_t count);

CUresult capture_record(struct stream *stream, CUevent handle, struct event *event,
                        unsigned int flags);

/** Captures a wait of a capturing stream, or for an event that a capture recorded. */
CUresult capture_wait(struct stream *stream, CUevent eventHandle,
                      struct event *event, unsigned int flags);

/** Forgets that an event's latest record was captured, before its slot is used for something else. */
void capture_forget_event(struct event *event);

/** The error if an event's latest record was captured, so that nobody can wait for it. */
CUresult capture_refuse_event(const struct event *event);

/**
 * Takes a stream that is being destroyed out of its capture. A capture that it began is dropped; one that it joined
 * goes on, unless the context goes, too, and still has to join the stream's work.
 */
void capture_discard(struct stream *stream, bool withContext);
