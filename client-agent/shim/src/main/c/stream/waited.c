// SPDX-License-Identifier: Apache-2.0
#include "stream/waited.h"

#include "stream/settle.h"
#include "stream/work_hooks.h"
#include "transport/connection.h"

#include <stdatomic.h>

static _Thread_local struct {
  const struct context *context;
  uint64_t contextId;
  uint64_t position;  // of the connection's frames, after the wait's own
  uint32_t stream;
} last;

uint64_t waited_position(const struct context *context) {
  return atomic_load_explicit(&connection_of(context->number)->ring.published, memory_order_acquire);
}

void waited_end(const struct context *context, uint32_t stream, uint64_t begun, uint32_t frameBytes) {
  last.context = context;
  last.contextId = context->id;
  last.stream = stream;
  // Another length: somebody else has sent something meanwhile, or the frame did not fit into the lap.
  last.position = waited_position(context) - begun == frameBytes ? begun + frameBytes : 0;
}

bool waited_already(const struct context *context, uint32_t stream) {
  return last.position && last.context == context && last.contextId == context->id && last.stream == stream &&
         last.position == waited_position(context) && !work_hooks_armed() && !connections_several() &&
         !atomic_load(&connection_of(context->number)->calls.copies);
}
