// SPDX-License-Identifier: Apache-2.0
#include "memory/memcpy.h"

#include "context/memory_ranges.h"
#include "memory/host_settle.h"
#include "memory/memset_checks.h"
#include "memory/mirror.h"
#include "memory/shared_copy.h"
#include "ops.h"
#include "shim.h"
#include "stream/capture_interface.h"
#include "stream/host_func.h"
#include "stream/route.h"
#include "stream/stream.h"
#include "stream/waited.h"
#include "stream/work_hooks.h"

#include <stdatomic.h>
#include <string.h>

enum memory_kind memory_kind_of(uint64_t address) {
  if (ranges_find(&deviceRanges, address, NULL)) return MEMORY_DEVICE;
  return ranges_find(&hostRanges, address, NULL) ? MEMORY_PINNED : MEMORY_PAGEABLE;
}

CUresult copy_begin(CUstream handle, struct context **context, uint32_t *stream) {
  CUresult result = context_or_none(context);
  if (!result) result = stream_number(handle, context, stream);
  return result ? result : before_submit(*context, *stream);
}

CUresult copy_to_device(struct context *context, uint32_t stream, uint64_t destination,
                        const void *source, uint64_t bytes, enum loan_end end) {
  const uint8_t *from = source;
  CUresult result = CUDA_SUCCESS;
  struct loan loan;
  bool lends = bytes > BULK_BYTES;
  if (lends) loan_begin(&loan, connection_of(context->number));
  for (uint64_t done = 0; done < bytes && !result;) {
    uint64_t part = bytes - done < MAX_DATA_BYTES ? bytes - done : MAX_DATA_BYTES;
    result = op_memcpyHtoD(context->number, destination + done, stream, from + done, part);
    done += part;
  }
  if (lends) loan_end(&loan, end);
  return result;
}

CUresult copy_from_device(struct context *context, uint32_t stream, void *destination,
                          uint64_t source, uint64_t bytes) {
  if (!bytes) return stream_wait(context, stream);
  struct call call = {.destination = destination, .destinationBytes = bytes};
  struct connection *connection = connection_of(context->number);
  uint64_t begun = waited_position(context);
  call_open(connection, &call);
  uint64_t *slot = ring_begin(connection, COPY_FRAME_BYTES);
  if (!slot) return call_cancel(&call);
  slot[0] = FRAME(COPY_FRAME_BYTES, OP_memcpyDtoH, context->number);
  slot[1] = call.tag;
  slot[2] = source;
  slot[3] = bytes;
  slot[4] = stream;
  uint64_t mark = submit_mark();
  bool waits = wait_begins();
  CUresult result = context_result(context, call_wait(&call));
  wait_ends(waits);
  if (!result) waited_end(context, stream, begun, COPY_FRAME_BYTES);
  if (!result) result = after_wait(context, stream, mark);
  if (result) return result;
  if (call.receivedBytes != bytes) return session_malformed("less than was to be copied");
  return call.faulted ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult copy_from_device_posted(struct context *context, uint32_t stream, void *destination,
                                 uint64_t source, uint64_t bytes) {
  if (!bytes) return CUDA_SUCCESS;
  struct call *copy = copy_open(connection_of(context->number), destination, bytes);
  if (!copy) return CUDA_ERROR_OUT_OF_MEMORY;
  return op_memcpyDtoHPosted(context->number, copy->tag, source, bytes, stream);
}

CUresult copy_on_device(struct context *context, uint32_t stream, uint64_t destination,
                        uint64_t source, uint64_t bytes) {
  if (!bytes) return CUDA_SUCCESS;
  return op_cuMemcpyDtoDAsync_v2(context->number, destination, source, bytes, stream);
}

CUresult copy_settle_source(struct context *context, uint32_t stream, const void *source,
                            uint64_t bytes) {
  if (host_pending(source, bytes)) return host_settle(source, bytes);
  return host_funcs_pending() || mirror_overlaps(source, bytes) ? stream_wait(context, stream) : CUDA_SUCCESS;
}

CUresult copy_to_device_done(struct context *context, uint32_t stream, bool unknown) {
  // The legacy default stream orders itself before all others but the non-blocking ones.
  // Other connections know nothing of that.
  bool ordered = stream == NUMBER_LEGACY_STREAM && !connections_several() &&
                 atomic_load_explicit(&context->nonBlocking, memory_order_relaxed) == 0;
  return ordered && !unknown ? CUDA_SUCCESS : stream_wait(context, stream);
}

bool copy_is_seen(CUdeviceptr destination) {
  struct range range;
  return ranges_find(&deviceRanges, destination, &range) &&
         (range.kind == RANGE_MANAGED || range.kind == RANGE_MAPPED);
}

/** Returns when the program may change the source of an asynchronous copy: page-locked memory once the copy is done. */
static enum loan_end source_of_async(const void *source, uint64_t bytes) {
  struct range range;
  uint64_t from = (uintptr_t)source;
  bool locked = bytes > BULK_BYTES && ranges_find(&hostRanges, from, &range) && bytes <= range.base + range.bytes - from;
  return locked ? LOAN_KEPT : LOAN_RETURNED;
}

static CUresult to_device(CUdeviceptr destination, const void *source, size_t bytes,
                          CUstream handle, bool wait) {
  struct context *context;
  uint32_t stream;
  bool unknown = false;
  struct stream *capturing = capture_stream(handle);
  if (UNLIKELY(capturing != NULL)) {
    return capture_copy(capturing, destination, CU_MEMORYTYPE_DEVICE, (uintptr_t)source,
                        CU_MEMORYTYPE_HOST, bytes, wait);
  }
  CUresult result = copy_begin(handle, &context, &stream);
  if (!result && wait) result = capture_unsafe();
  if (result || !bytes) return result;
  if (!source) return CUDA_ERROR_INVALID_VALUE;
  result = memory_check(destination, bytes, &unknown);
  struct route route;
  if (!result) result = route_to(&route, context, stream, destination);
  if (result) return result;
  if (shared_copy_to_device(&route, destination, source, bytes, wait || unknown, &result)) {
    return route_end(&route, result);
  }
  result = copy_settle_source(context, stream, source, bytes);
  if (result) return route_end(&route, result);
  enum loan_end end = wait ? LOAN_RETURNED : source_of_async(source, bytes);
  result = copy_to_device(route.context, route.stream, destination, source, bytes, end);
  if (!result && (wait || unknown)) {
    result = copy_is_seen(destination) ? stream_wait(route.context, route.stream)
                                       : copy_to_device_done(route.context, route.stream, unknown);
  }
  return route_end(&route, result);
}

static CUresult from_device(void *destination, CUdeviceptr source, size_t bytes, CUstream handle,
                            bool wait) {
  struct context *context;
  uint32_t stream;
  bool unknown = false;
  struct stream *capturing = capture_stream(handle);
  if (UNLIKELY(capturing != NULL)) {
    return capture_copy(capturing, (uintptr_t)destination, CU_MEMORYTYPE_HOST, source,
                        CU_MEMORYTYPE_DEVICE, bytes, wait);
  }
  CUresult result = copy_begin(handle, &context, &stream);
  if (!result && wait) result = capture_unsafe();
  if (result) return result;
  if (bytes && !destination) return CUDA_ERROR_INVALID_VALUE;
  result = memory_check(source, bytes, &unknown);
  struct route route;
  if (!result) result = route_to(&route, context, stream, source);
  if (result) return result;
  if (!unknown && shared_copy_to_host(&route, destination, source, bytes, wait || route.home, &result)) {
    return route_end(&route, result);
  }
  // A fence on this connection does not tell that data has come on another one.
  bool mayCome = !wait && !unknown && !route.home;
  if (mayCome && ranges_find(&hostRanges, (uintptr_t)destination, NULL)) {
    return copy_from_device_posted(context, stream, destination, source, bytes);
  }
  return route_end(&route, copy_from_device(route.context, route.stream, destination, source, bytes));
}

/** A copy between devices of perhaps several connections; the contexts are those of addresses that are not known. */
static CUresult on_devices(struct context *context, uint32_t stream, CUdeviceptr destination,
                           struct context *to, CUdeviceptr source, struct context *from,
                           uint64_t bytes, bool wait) {
  to = memory_context(destination, to ? to : context);
  from = memory_context(source, from ? from : context);
  if (!bytes) return CUDA_SUCCESS;
  struct route route = {.context = context, .stream = stream};
  bool several = wait && (to != context || from != context);
  CUresult result = several ? route_devices_begin(&route, context, stream, to, from) : CUDA_SUCCESS;
  if (!result) {
    result = route_copy(route.context, route.stream, destination, to, source, from, bytes);
  }
  if (several) result = route_devices_end(&route, from, result);
  return !result && wait && copy_is_seen(destination) ? stream_wait(context, stream) : result;
}

static CUresult on_device(CUdeviceptr destination, struct context *to, CUdeviceptr source,
                          struct context *from, size_t bytes, CUstream handle, bool wait) {
  struct context *context;
  uint32_t stream;
  struct stream *capturing = capture_stream(handle);
  if (UNLIKELY(capturing != NULL)) {
    return capture_cuMemcpyDtoDAsync_v2(capturing, destination, source, bytes, handle);
  }
  CUresult result = copy_begin(handle, &context, &stream);
  if (!result) result = check_cuMemcpyDtoDAsync_v2(destination, source, bytes, handle);
  if (!result && (wait || connections_several())) {
    return on_devices(context, stream, destination, to, source, from, bytes, wait);
  }
  if (!result) result = copy_on_device(context, stream, destination, source, bytes);
  return !result && wait && copy_is_seen(destination) ? stream_wait(context, stream) : result;
}

/** Host to host, in a stream: there is nothing but to wait for what comes before. */
static CUresult on_host(void *destination, const void *source, size_t bytes, CUstream handle) {
  struct context *context;
  uint32_t stream;
  struct stream *capturing = capture_stream(handle);
  if (UNLIKELY(capturing != NULL)) {
    return capture_copy(capturing, (uintptr_t)destination, CU_MEMORYTYPE_HOST, (uintptr_t)source,
                        CU_MEMORYTYPE_HOST, bytes, false);
  }
  CUresult result = copy_begin(handle, &context, &stream);
  if (!result) result = stream_wait(context, stream);
  if (!result) memmove(destination, source, bytes);
  return result;
}

/** A copy whose direction the addresses tell. */
static CUresult copy_any(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream handle,
                         bool wait) {
  bool toDevice = memory_kind_of(dst) == MEMORY_DEVICE;
  bool fromDevice = memory_kind_of(src) == MEMORY_DEVICE;
  void *hostDst = (void *)(uintptr_t)dst;
  const void *hostSrc = (const void *)(uintptr_t)src;
  if (!dst || !src) return bytes ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  if (toDevice && fromDevice) return on_device(dst, NULL, src, NULL, bytes, handle, wait);
  if (toDevice) return to_device(dst, hostSrc, bytes, handle, wait);
  if (fromDevice) return from_device(hostDst, src, bytes, handle, wait);
  return on_host(hostDst, hostSrc, bytes, handle);
}

/** Both sides of a copy on devices. */
static CUresult check_sides(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  bool unknown = false;
  CUresult result = memory_check(destination, bytes, &unknown);
  return result ? result : memory_check(source, bytes, &unknown);
}

CUresult check_cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                                    CUstream hStream) {
  CUresult result = check_sides(dstDevice, srcDevice, ByteCount);
  if (result || !work_hooks_armed()) return result;
  struct context *context;
  uint32_t stream;
  return copy_begin(hStream, &context, &stream);
}

CUresult routed_cuMemcpyDtoDAsync_v2(struct context *context, uint32_t stream, CUdeviceptr dstDevice,
                                     CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream) {
  (void)hStream;
  return on_devices(context, stream, dstDevice, NULL, srcDevice, NULL, ByteCount, false);
}

CUresult capture_cuMemcpyDtoDAsync_v2(struct stream *stream, CUdeviceptr dstDevice,
                                      CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream) {
  (void)hStream;
  CUresult result = check_sides(dstDevice, srcDevice, ByteCount);
  return result ? result
                : capture_copy(stream, dstDevice, CU_MEMORYTYPE_DEVICE, srcDevice,
                               CU_MEMORYTYPE_DEVICE, ByteCount, false);
}

CUresult shim_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream implied) {
  return copy_any(dst, src, ByteCount, implied, true);
}

CUresult shim_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream) {
  return copy_any(dst, src, ByteCount, hStream, false);
}

CUresult shim_cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
                              CUstream implied) {
  return to_device(dstDevice, srcHost, ByteCount, implied, true);
}

CUresult shim_cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
                                   CUstream hStream) {
  return to_device(dstDevice, srcHost, ByteCount, hStream, false);
}

CUresult shim_cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                              CUstream implied) {
  return from_device(dstHost, srcDevice, ByteCount, implied, true);
}

CUresult shim_cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                                   CUstream hStream) {
  return from_device(dstHost, srcDevice, ByteCount, hStream, false);
}

CUresult shim_cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                              CUstream implied) {
  return on_device(dstDevice, NULL, srcDevice, NULL, ByteCount, implied, true);
}

// Between contexts: addresses tell devices by themselves, to the server's driver as to the shim.

static CUresult between_contexts(CUdeviceptr destination, CUcontext toHandle, CUdeviceptr source,
                                 CUcontext fromHandle, size_t bytes, CUstream stream, bool wait) {
  struct context *to = toHandle ? arena_find(&contexts, toHandle) : NULL;
  struct context *from = fromHandle ? arena_find(&contexts, fromHandle) : NULL;
  if ((toHandle && !to) || (fromHandle && !from)) return CUDA_ERROR_INVALID_CONTEXT;
  return on_device(destination, to, source, from, bytes, stream, wait);
}

CUresult shim_cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                                CUcontext srcContext, size_t ByteCount, CUstream hStream) {
  return between_contexts(dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream, false);
}

CUresult shim_cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                           CUcontext srcContext, size_t ByteCount, CUstream implied) {
  return between_contexts(dstDevice, dstContext, srcDevice, srcContext, ByteCount, implied, true);
}
