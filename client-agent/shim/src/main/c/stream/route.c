// SPDX-License-Identifier: Apache-2.0
#include "stream/route.h"

#include "ops.h"
#include "stream/stream.h"

#include <stdatomic.h>

static _Atomic uint64_t lastTicket;

static uint64_t next_ticket(void) { return atomic_fetch_add_explicit(&lastTicket, 1, memory_order_relaxed) + 1; }

static uint32_t connection_number(const struct context *context) { return context->number >> CONNECTION_SHIFT; }

static bool same_connection(const struct context *context, const struct context *other) {
  return connection_same(context->number, other->number);
}

CUresult route_guest(struct context *context, uint32_t *stream) {
  return stream_internal(context, &context->guestStream, stream);
}

CUresult route_after(struct context *context, uint32_t stream, struct context *before,
                     uint32_t beforeStream) {
  uint64_t ticket = next_ticket();
  CUresult result = op_fenceMark(before->number, beforeStream, ticket, connection_number(context));
  return result ? result : op_fenceWait(context->number, stream, ticket, connection_number(before));
}

CUresult route_after_event(struct context *context, uint32_t stream, struct context *eventContext,
                           uint32_t event) {
  uint64_t ticket = next_ticket();
  CUresult result = op_fenceSend(eventContext->number, event, ticket, connection_number(context));
  return result ? result
                : op_fenceWait(context->number, stream, ticket, connection_number(eventContext));
}

CUresult route_begin(struct route *route, struct context *context, uint32_t stream,
                     struct context *owner) {
  *route = (struct route){.context = context, .stream = stream};
  if (!owner || same_connection(context, owner)) return CUDA_SUCCESS;
  route->home = context;
  route->homeStream = stream;
  route->context = owner;
  CUresult result = route_guest(owner, &route->stream);
  return result ? result : route_after(owner, route->stream, context, stream);
}

CUresult route_end(const struct route *route, CUresult result) {
  if (!route->home) return result;
  CUresult back = route_after(route->home, route->homeStream, route->context, route->stream);
  return result ? result : back;
}

CUresult route_devices_begin(struct route *route, struct context *context, uint32_t stream,
                             struct context *to, struct context *from) {
  *route = (struct route){.context = to, .home = context, .homeStream = stream};
  CUresult result = route_guest(to, &route->stream);
  if (!result) result = route_after(to, route->stream, context, stream);
  if (!result) result = route_after(to, route->stream, to, NUMBER_LEGACY_STREAM);
  return result ? result : route_after(to, route->stream, from, NUMBER_LEGACY_STREAM);
}

CUresult route_devices_end(const struct route *route, struct context *from, CUresult result) {
  struct context *to = route->context;
  if (result) return result;
  result = route_after(route->home, route->homeStream, to, route->stream);
  if (!result) result = route_after(to, NUMBER_LEGACY_STREAM, to, route->stream);
  return result ? result : route_after(from, NUMBER_LEGACY_STREAM, to, route->stream);
}

CUresult route_copy(struct context *context, uint32_t stream, CUdeviceptr destination,
                    struct context *to, CUdeviceptr source, struct context *from, uint64_t bytes) {
  struct route route;
  CUresult result = route_begin(&route, context, stream, to);
  if (result || !bytes) return result;
  if (same_connection(to, from)) {
    result = op_cuMemcpyDtoDAsync_v2(route.context->number, destination, source, bytes, route.stream);
  } else {
    uint64_t ticket = next_ticket();
    result = op_peerAllow(from->number, ticket, connection_number(to), source, bytes);
    if (!result) {
      result = op_peerPull(route.context->number, ticket, connection_number(from), destination, bytes,
                           route.stream);
    }
  }
  return route_end(&route, result);
}
