// SPDX-License-Identifier: Apache-2.0
#include "memory/shared_copy.h"

#include "memory/host_settle.h"
#include "memory/mirror.h"
#include "memory/shared_host.h"
#include "ops.h"
#include "stream/stream.h"
#include "transport/calls.h"
#include "transport/marshal.h"
#include "wire.h"

/** Finds the place of memory; false if its bytes have to be sent. */
static bool find(const struct route *route, const void *memory, uint64_t bytes, struct shared_place *place) {
  return bytes && shared_host_find(route->context, memory, bytes, place) && !mirror_overlaps(memory, bytes);
}

/** Lets bytes arrive that other copies send to the memory, and takes note that it is in use unless the caller waits. */
static CUresult begin(const void *memory, uint64_t bytes, const struct shared_place *place, bool wait) {
  CUresult result = copies_pending(memory, bytes) ? host_settle(memory, bytes) : CUDA_SUCCESS;
  if (!result && !wait) shared_host_used(place);
  return result;
}

static uint64_t piece(uint64_t left) { return left < SHARED_HOST_COPY_BYTES ? left : SHARED_HOST_COPY_BYTES; }

bool shared_copy_to_device(const struct route *route, CUdeviceptr destination, const void *source, uint64_t bytes,
                           bool wait, CUresult *result) {
  struct context *context = route->context;
  struct shared_place place;
  // A short one goes along with its call, unless the GPU is still to write to its source.
  bool brief = bytes <= BULK_BYTES && !shared_host_busy(source, bytes);
  if (brief || !find(route, source, bytes, &place)) return false;
  *result = begin(source, bytes, &place, wait);
  for (uint64_t done = 0; done < bytes && !*result; done += SHARED_HOST_COPY_BYTES) {
    *result = op_hostToDevice(context->number, destination + done, place.region, place.offset + done,
                              piece(bytes - done), route->stream);
  }
  if (!*result && wait) *result = stream_wait(context, route->stream);
  return true;
}

bool shared_copy_to_host(const struct route *route, void *destination, CUdeviceptr source, uint64_t bytes, bool wait,
                         CUresult *result) {
  struct context *context = route->context;
  struct shared_place place;
  if (!find(route, destination, bytes, &place)) return false;
  *result = begin(destination, bytes, &place, wait);
  for (uint64_t done = 0; done < bytes && !*result; done += SHARED_HOST_COPY_BYTES) {
    *result = op_deviceToHost(context->number, place.region, place.offset + done, source + done,
                              piece(bytes - done), route->stream);
  }
  if (!*result && wait) *result = stream_wait(context, route->stream);
  return true;
}
