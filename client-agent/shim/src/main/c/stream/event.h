// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/graph.h"
#include "core/handles.h"

struct event {
  struct slot slot;
  unsigned int flags;
  struct context *context;
  uint32_t stream;  // where it was recorded; 0: nowhere yet
  uint64_t mark;    // of mirror.h, when it was
  // Of its latest record, if a capturing stream made it; guarded by the graph lock
  uint64_t captureId;
  struct edges frontier;
};

/** The event of a handle. *context as in handles.h. */
CUresult event_find(CUevent handle, struct context **context, struct event **event);

/** An event for the shim itself, without times; NULL if there are too many. */
struct event *event_make_internal(struct context *context);

/** A slot for an event of another process, whose handle is good already; NULL if there are too many. */
struct event *event_take_opened(struct context *context);

/** All events of a context become bad handles. */
void events_forget(struct context *context);
