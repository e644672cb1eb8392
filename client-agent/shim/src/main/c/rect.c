// SPDX-License-Identifier: Apache-2.0
// Copies of rectangles and boxes of linear memory, row by row. CUDA arrays are refused.
#include "copy.h"
#include "log.h"
#include "memory.h"
#include "ops.h"
#include "shim.h"
#include "stream.h"

#include <string.h>

// The worker keeps track of each row that is to come to the host; it has room for so many and more.
enum { ROWS_UNDER_WAY = 2048 };

/** One side of a copy: where row 0 begins, and how far rows and slices lie apart. */
struct side {
  uint64_t address;
  bool device;
  uint64_t pitch, slicePitch;
};

struct box {
  struct side from, to;
  uint64_t width, height, depth;
};

struct description {
  int memoryType;
  const void *host;
  CUdeviceptr device;
  uint64_t pitch, sliceRows;
  uint64_t x, y, z;
};

static CUresult refuse_arrays(void) {
  static int warned;
  if (!__atomic_exchange_n(&warned, 1, __ATOMIC_RELAXED)) {
    log_line(LOG_WARN, "copies from and to CUDA arrays are not supported yet"
                       " (CUDA_ERROR_NOT_SUPPORTED)");
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult side_of(const struct description *description, const struct box *box,
                        struct side *side) {
  uint64_t address = (uintptr_t)description->host;
  switch (description->memoryType) {
    case CU_MEMORYTYPE_HOST:
      side->device = false;
      break;
    case CU_MEMORYTYPE_DEVICE:
      address = description->device;
      side->device = true;
      break;
    case CU_MEMORYTYPE_UNIFIED:
      address = description->device;
      side->device = copy_place(address) == PLACE_DEVICE;
      break;
    case CU_MEMORYTYPE_ARRAY:
      return refuse_arrays();
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  uint64_t pitch = description->pitch ? description->pitch : description->x + box->width;
  uint64_t sliceRows =
      description->sliceRows ? description->sliceRows : description->y + box->height;
  bool several = box->height > 1 || description->y > 0 || box->depth > 1;
  if (several && pitch < description->x + box->width) return CUDA_ERROR_INVALID_VALUE;
  if (box->depth > 1 && sliceRows < description->y + box->height) return CUDA_ERROR_INVALID_VALUE;
  if (!address) return CUDA_ERROR_INVALID_VALUE;
  side->pitch = pitch;
  if (__builtin_mul_overflow(pitch, sliceRows, &side->slicePitch)) return CUDA_ERROR_INVALID_VALUE;
  side->address =
      address + description->z * side->slicePitch + description->y * pitch + description->x;
  if (!side->device) return CUDA_SUCCESS;
  bool unknown = false;
  uint64_t span =
      (box->depth - 1) * side->slicePitch + (box->height - 1) * pitch + box->width;
  return memory_check(side->address, span, &unknown);
}

/** Rows, and then slices, that lie one after the other on both sides become one. */
static void merge_rows(struct box *box) {
  if (box->from.pitch == box->width && box->to.pitch == box->width) {
    box->width *= box->height;
    box->height = 1;
    if (box->depth > 1 && box->from.slicePitch == box->width && box->to.slicePitch == box->width) {
      box->width *= box->depth;
      box->depth = 1;
    }
  }
}

static uint64_t span(const struct box *box, const struct side *side) {
  return (box->depth - 1) * side->slicePitch + (box->height - 1) * side->pitch + box->width;
}

static CUresult copy_row(struct context *context, uint32_t stream, const struct box *box,
                         uint64_t to, uint64_t from) {
  void *hostTo = (void *)(uintptr_t)to;
  const void *hostFrom = (const void *)(uintptr_t)from;
  if (box->to.device && box->from.device) {
    return copy_on_device(context, stream, to, from, box->width);
  }
  if (box->to.device) return copy_to_device(context, stream, to, hostFrom, box->width);
  if (box->from.device) {
    return copy_from_device_posted(context, stream, hostTo, from, box->width);
  }
  memmove(hostTo, hostFrom, box->width);
  return CUDA_SUCCESS;
}

static CUresult copy_box(struct box *box, CUstream handle, bool wait) {
  struct context *context;
  uint32_t stream;
  CUresult result = copy_begin(handle, &context, &stream);
  if (result) return result;
  merge_rows(box);
  bool toHost = !box->to.device, fromHost = !box->from.device;
  if (toHost && fromHost) {
    result = stream_wait(context, stream);
  } else if (fromHost) {
    result = copy_settle_source(context, stream, (const void *)(uintptr_t)box->from.address,
                                span(box, &box->from));
  }
  uint32_t rows = 0;
  for (uint64_t z = 0; z < box->depth && !result; z++) {
    for (uint64_t y = 0; y < box->height && !result; y++) {
      if (toHost && !fromHost && ++rows % ROWS_UNDER_WAY == 0) {
        result = stream_wait(context, stream);
        if (result) break;
      }
      result = copy_row(context, stream, box,
                        box->to.address + z * box->to.slicePitch + y * box->to.pitch,
                        box->from.address + z * box->from.slicePitch + y * box->from.pitch);
    }
  }
  if (result) return result;
  if (toHost && !fromHost) {
    bool pinned = copy_place(box->to.address) == PLACE_PINNED;
    return wait || !pinned ? stream_wait(context, stream) : CUDA_SUCCESS;
  }
  if (wait && copy_is_seen(box->to.address)) return stream_wait(context, stream);
  return fromHost && !toHost && wait ? copy_to_device_done(context, stream, false) : CUDA_SUCCESS;
}

static CUresult copy_described(const struct description *from, const struct description *to,
                               struct box *box, CUstream handle, bool wait) {
  if (!box->width || !box->height || !box->depth) return CUDA_SUCCESS;
  CUresult result = side_of(from, box, &box->from);
  if (!result) result = side_of(to, box, &box->to);
  return result ? result : copy_box(box, handle, wait);
}

#define SIDE_2D(copy, end) \
  { copy->end##MemoryType, copy->end##Host, copy->end##Device, copy->end##Pitch, 0, \
    copy->end##XInBytes, copy->end##Y, 0 }

#define SIDE_3D(copy, end) \
  { copy->end##MemoryType, copy->end##Host, copy->end##Device, copy->end##Pitch, \
    copy->end##Height, copy->end##XInBytes, copy->end##Y, copy->end##Z }

#define COPY_2D(type, name) \
  static CUresult name(const type *copy, CUstream handle, bool wait) { \
    if (!copy) return CUDA_ERROR_INVALID_VALUE; \
    struct description from = SIDE_2D(copy, src), to = SIDE_2D(copy, dst); \
    struct box box = {.width = copy->WidthInBytes, .height = copy->Height, .depth = 1}; \
    return copy_described(&from, &to, &box, handle, wait); \
  }

#define COPY_3D(type, name) \
  static CUresult name(const type *copy, CUstream handle, bool wait) { \
    if (!copy || copy->srcLOD || copy->dstLOD) return CUDA_ERROR_INVALID_VALUE; \
    struct description from = SIDE_3D(copy, src), to = SIDE_3D(copy, dst); \
    struct box box = { \
        .width = copy->WidthInBytes, .height = copy->Height, .depth = copy->Depth}; \
    return copy_described(&from, &to, &box, handle, wait); \
  }

COPY_2D(CUDA_MEMCPY2D, copy_2d)
COPY_2D(CUDA_MEMCPY2D_v1, copy_2d_v1)
COPY_3D(CUDA_MEMCPY3D, copy_3d)
COPY_3D(CUDA_MEMCPY3D_v1, copy_3d_v1)

CUresult shim_cuMemcpy2D_v2(const CUDA_MEMCPY2D *pCopy, CUstream implied) {
  return copy_2d(pCopy, implied, true);
}

CUresult shim_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *pCopy, CUstream implied) {
  return copy_2d(pCopy, implied, true);
}

CUresult shim_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *pCopy, CUstream hStream) {
  return copy_2d(pCopy, hStream, false);
}

CUresult shim_cuMemcpy3D_v2(const CUDA_MEMCPY3D *pCopy, CUstream implied) {
  return copy_3d(pCopy, implied, true);
}

CUresult shim_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *pCopy, CUstream hStream) {
  return copy_3d(pCopy, hStream, false);
}

CUresult shim_cuMemcpy2D(const CUDA_MEMCPY2D_v1 *pCopy) {
  return copy_2d_v1(pCopy, CU_STREAM_LEGACY, true);
}

CUresult shim_cuMemcpy2DUnaligned(const CUDA_MEMCPY2D_v1 *pCopy) {
  return copy_2d_v1(pCopy, CU_STREAM_LEGACY, true);
}

CUresult shim_cuMemcpy2DAsync(const CUDA_MEMCPY2D_v1 *pCopy, CUstream hStream) {
  return copy_2d_v1(pCopy, hStream, false);
}

CUresult shim_cuMemcpy3D(const CUDA_MEMCPY3D_v1 *pCopy) {
  return copy_3d_v1(pCopy, CU_STREAM_LEGACY, true);
}

CUresult shim_cuMemcpy3DAsync(const CUDA_MEMCPY3D_v1 *pCopy, CUstream hStream) {
  return copy_3d_v1(pCopy, hStream, false);
}
