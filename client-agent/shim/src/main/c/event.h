// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "handles.h"

struct event {
  struct slot slot;
  unsigned int flags;
  struct context *context;
};

/** All events of a context become bad handles. */
void events_forget(struct context *context);
