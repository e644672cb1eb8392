// SPDX-License-Identifier: Apache-2.0
// Events.
#pragma once

#include "core/handles.h"
#include "stream/capture_interface.h"

struct event {
  struct slot slot;
  unsigned int flags;
  struct context *context;
  uint32_t stream;  // where it was recorded; 0: nowhere yet
  uint64_t mark;    // of work_hooks.h, when it was
  _Atomic uint32_t records;    // goes up before and after each record is sent
  _Atomic uint32_t completed;  // `records` and 1 when it was found to be complete; 0: it was not
  _Atomic bool elsewhere;      // graphs record it as well
  // Of its latest record, if a capturing stream made it; guarded by the graph lock
  uint64_t captureId;
  struct edges frontier;
};

extern struct arena events;

/** The event of a handle. *context as for stream_find. */
CUresult event_find(CUevent handle, struct context **context, struct event **event);

/** The number of an event whose latest record was not captured. *context as for stream_find. */
CUresult event_number(CUevent handle, struct context **context, uint32_t *number);

/** An event for the shim itself, without times; NULL if there are too many. */
struct event *event_make_internal(struct context *context);

/** A slot for an event of another process, whose handle is good already; NULL if there are too many. */
struct event *event_take_opened(struct context *context);
