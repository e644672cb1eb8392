// SPDX-License-Identifier: Apache-2.0
// Work for another connection than its stream's: there it goes in a stream of the shim's own, which waits for the
// program's, and which the program's waits for. Tickets order them without the program waiting; see
// docs/design/several-servers.md. On one connection none of this is reached.
#pragma once

#include "context/context.h"
#include "context/memory_ranges.h"
#include "stream/settle.h"

struct route {
  struct context *context;  // where the work goes
  uint32_t stream;
  struct context *home;  // NULL: where it was put
  uint32_t homeStream;
};

/** Makes what is put into a stream from now on wait for what is in another one, of whatever connections. */
CUresult route_after(struct context *context, uint32_t stream, struct context *before,
                     uint32_t beforeStream);

/** Makes a stream wait for the present record of an event of another connection. */
CUresult route_after_event(struct context *context, uint32_t stream, struct context *eventContext,
                           uint32_t event);

/** Finds where work has to go that belongs to a context; there it may begin after what is in the stream. */
CUresult route_begin(struct route *route, struct context *context, uint32_t stream,
                     struct context *owner);

/** Does the same for work with memory. */
static inline CUresult route_to(struct route *route, struct context *context, uint32_t stream,
                                CUdeviceptr address) {
  *route = (struct route){.context = context, .stream = stream};
  return connections_several() ? route_begin(route, context, stream, memory_context(address, context))
                         : CUDA_SUCCESS;
}

/** Makes the stream go on after that work. Returns the given result, or an error of its own. */
CUresult route_end(const struct route *route, CUresult result);

/**
 * Has a synchronous copy between devices begin after the default streams of both, and of where it is asked for;
 * they go on after it, which route_devices_end sees to.
 */
CUresult route_devices_begin(struct route *route, struct context *context, uint32_t stream,
                             struct context *to, struct context *from);
CUresult route_devices_end(const struct route *route, struct context *from, CUresult result);

/** Fetches device memory from another connection, or copies on one, in a stream of any. */
CUresult route_copy(struct context *context, uint32_t stream, CUdeviceptr destination,
                    struct context *to, CUdeviceptr source, struct context *from, uint64_t bytes);

/** A stream of the shim's own in a context, which waits for no other. */
CUresult route_guest(struct context *context, uint32_t *stream);
