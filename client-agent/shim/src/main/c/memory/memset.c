// SPDX-License-Identifier: Apache-2.0
// Filling device memory. To the host all of it is asynchronous, so that the synchronous forms are the
// asynchronous ones in the default stream; only that others are not ordered after non-blocking streams.
#include "context/memory_ranges.h"
#include "memory/memcpy.h"
#include "memory/memset_checks.h"
#include "ops.h"
#include "stream/capture_interface.h"
#include "stream/route.h"
#include "stream/stream.h"
#include "stream/work_hooks.h"

/** Rows of width elements of so many bytes. */
static CUresult check_span(CUdeviceptr destination, size_t pitch, size_t elementBytes, size_t width,
                           size_t height) {
  bool unknown = false;
  size_t rowBytes, span;
  if (destination % elementBytes) return CUDA_ERROR_INVALID_VALUE;
  if (!width || !height) return CUDA_SUCCESS;
  if (__builtin_mul_overflow(width, elementBytes, &rowBytes)) return CUDA_ERROR_INVALID_VALUE;
  if (height > 1 && (pitch < rowBytes || pitch % elementBytes)) return CUDA_ERROR_INVALID_VALUE;
  if (__builtin_mul_overflow(height - 1, pitch, &span) ||
      __builtin_add_overflow(span, rowBytes, &span)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return memory_check(destination, span, &unknown);
}

/** Makes the checks of check_span for a fill in a stream. */
static CUresult check_rows(CUdeviceptr destination, size_t pitch, size_t elementBytes, size_t width,
                           size_t height, CUstream handle) {
  CUresult result = check_span(destination, pitch, elementBytes, width, height);
  if (result || !work_hooks_armed()) return result;
  struct context *context;
  uint32_t stream;
  return copy_begin(handle, &context, &stream);
}

CUresult memset_wait(CUdeviceptr destination, CUstream handle) {
  struct context *context;
  uint32_t stream;
  if (!work_hooks_armed() || !copy_is_seen(destination)) return CUDA_SUCCESS;
  CUresult result = copy_begin(handle, &context, &stream);
  return result ? result : stream_wait(context, stream);
}

CUresult check_cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N,
                               CUstream hStream) {
  (void)uc;
  return check_rows(dstDevice, 0, 1, N, 1, hStream);
}

CUresult check_cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N,
                                CUstream hStream) {
  (void)us;
  return check_rows(dstDevice, 0, 2, N, 1, hStream);
}

CUresult check_cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N,
                                CUstream hStream) {
  (void)ui;
  return check_rows(dstDevice, 0, 4, N, 1, hStream);
}

CUresult check_cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
                                 size_t Width, size_t Height, CUstream hStream) {
  (void)uc;
  return check_rows(dstDevice, dstPitch, 1, Width, Height, hStream);
}

CUresult check_cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
                                  size_t Width, size_t Height, CUstream hStream) {
  (void)us;
  return check_rows(dstDevice, dstPitch, 2, Width, Height, hStream);
}

CUresult check_cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,
                                  size_t Width, size_t Height, CUstream hStream) {
  (void)ui;
  return check_rows(dstDevice, dstPitch, 4, Width, Height, hStream);
}

// On several connections: where the memory is.

#define ROUTED_FILL(bits, type) \
  CUresult routed_cuMemsetD##bits##Async(struct context *context, uint32_t stream, \
                                         CUdeviceptr dstDevice, type value, size_t N, \
                                         CUstream hStream) { \
    (void)hStream; \
    struct route route; \
    CUresult result = route_to(&route, context, stream, dstDevice); \
    if (!result) { \
      result = op_cuMemsetD##bits##Async(route.context->number, dstDevice, value, N, route.stream); \
    } \
    return route_end(&route, result); \
  } \
  CUresult routed_cuMemsetD2D##bits##Async(struct context *context, uint32_t stream, \
                                           CUdeviceptr dstDevice, size_t dstPitch, type value, \
                                           size_t Width, size_t Height, CUstream hStream) { \
    (void)hStream; \
    struct route route; \
    CUresult result = route_to(&route, context, stream, dstDevice); \
    if (!result) { \
      result = op_cuMemsetD2D##bits##Async(route.context->number, dstDevice, dstPitch, value, Width, \
                                           Height, route.stream); \
    } \
    return route_end(&route, result); \
  }

ROUTED_FILL(8, unsigned char)
ROUTED_FILL(16, unsigned short)
ROUTED_FILL(32, unsigned int)

// The stream is capturing.

#define CAPTURE_FILL(bits, type) \
  CUresult capture_cuMemsetD##bits##Async(struct stream *stream, CUdeviceptr dstDevice, \
                                          type value, size_t N, CUstream hStream) { \
    (void)hStream; \
    CUresult result = check_span(dstDevice, 0, bits / 8, N, 1); \
    return result ? result : capture_fill(stream, dstDevice, 0, value, bits / 8, N, 1); \
  } \
  CUresult capture_cuMemsetD2D##bits##Async(struct stream *stream, CUdeviceptr dstDevice, \
                                            size_t dstPitch, type value, size_t Width, \
                                            size_t Height, CUstream hStream) { \
    (void)hStream; \
    CUresult result = check_span(dstDevice, dstPitch, bits / 8, Width, Height); \
    return result ? result \
                  : capture_fill(stream, dstDevice, dstPitch, value, bits / 8, Width, Height); \
  }

CAPTURE_FILL(8, unsigned char)
CAPTURE_FILL(16, unsigned short)
CAPTURE_FILL(32, unsigned int)
