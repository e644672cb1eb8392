// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "handles.h"

struct event {
  struct slot slot;
  unsigned int flags;
  struct context *context;
  uint32_t stream;  // where it was recorded; 0: nowhere yet
  uint64_t mark;    // of mirror.h, when it was
};

/** All events of a context become bad handles. */
void events_forget(struct context *context);
