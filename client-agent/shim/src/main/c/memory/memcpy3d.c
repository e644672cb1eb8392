// SPDX-License-Identifier: Apache-2.0
#include "memory/memcpy3d.h"

#include "context/memory_ranges.h"
#include "memory/array.h"
#include "ops.h"
#include "stream/capture_interface.h"
#include "stream/route.h"
#include "stream/stream.h"
#include "transport/marshal.h"

#include <stdlib.h>
#include <string.h>

// CU_DEVICE_ATTRIBUTE_MAX_PITCH of every device.
enum { MAX_PITCH_BYTES = INT32_MAX };

/** One end of a copy: memory, host or device, or an array. */
struct side {
  bool device;          // in memory of a device, or in an array
  struct array *array;  // NULL: in memory
  uint64_t address;     // in memory: of the region's first byte
  uint64_t pitch, rows, slicePitch;
  uint64_t x, y, z;  // in an array: of the region's first byte
};

struct copy3d {
  struct side from, to;
  uint64_t width, height, depth;
};

// The fields of a side on the call stream.
#define SIDE(side) \
  (side).array ? (side).array->slot.number : NUMBER_NULL, (side).address, (side).x, (side).y, \
      (side).z, (side).pitch, (side).rows

static bool within(uint64_t begin, uint64_t length, uint64_t end) {
  return length <= end && begin <= end - length;
}

static CUresult side_in_array(const struct copy_operand *description, const struct copy3d *region,
                              struct side *side) {
  struct array *array = array_find(description->array);
  if (!array) return CUDA_ERROR_INVALID_VALUE;
  *side = (struct side){.device = true,
                        .array = array,
                        .x = description->x,
                        .y = description->y,
                        .z = description->z};
  uint64_t element = array->elementBytes;
  if (!element) return CUDA_SUCCESS;  // the backend knows
  const CUDA_ARRAY3D_DESCRIPTOR *shape = &array->descriptor;
  bool inside = within(side->x, region->width, shape->Width * element) &&
                within(side->y, region->height, shape->Height ? shape->Height : 1) &&
                within(side->z, region->depth, shape->Depth ? shape->Depth : 1);
  bool whole = side->x % element == 0 && region->width % element == 0;
  return inside && whole ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/** The bytes from the first to the last of a region in memory; false if there are too many to count. */
static bool span(const struct copy3d *region, const struct side *side, uint64_t *bytes) {
  uint64_t slices, rows;
  return !__builtin_mul_overflow(region->depth - 1, side->slicePitch, &slices) &&
         !__builtin_mul_overflow(region->height - 1, side->pitch, &rows) &&
         !__builtin_add_overflow(slices, rows, bytes) &&
         !__builtin_add_overflow(*bytes, region->width, bytes);
}

static CUresult side_in_memory(const struct copy_operand *description, const struct copy3d *region,
                               uint64_t address, bool device, struct side *side) {
  uint64_t width = description->x + region->width, height = description->y + region->height;
  uint64_t pitch = description->pitch ? description->pitch : width;
  uint64_t rows = description->sliceRows ? description->sliceRows : height;
  bool several = region->height > 1 || description->y > 0 || region->depth > 1;
  if (!address || width < region->width || height < region->height) return CUDA_ERROR_INVALID_VALUE;
  if (several && (pitch < width || pitch > MAX_PITCH_BYTES)) return CUDA_ERROR_INVALID_VALUE;
  if (region->depth > 1 && rows < height) return CUDA_ERROR_INVALID_VALUE;
  *side = (struct side){.device = device, .pitch = pitch, .rows = rows};
  uint64_t slices, bytes;
  if (__builtin_mul_overflow(pitch, rows, &side->slicePitch) ||
      __builtin_mul_overflow(description->z, side->slicePitch, &slices) ||
      !span(region, side, &bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  side->address = address + slices + description->y * pitch + description->x;
  bool unknown = false;
  return device ? memory_check(side->address, bytes, &unknown) : CUDA_SUCCESS;
}

static CUresult side_of(const struct copy_operand *description, const struct copy3d *region,
                        struct side *side) {
  CUdeviceptr device = description->device;
  switch (description->memoryType) {
    case CU_MEMORYTYPE_HOST:
      return side_in_memory(description, region, (uintptr_t)description->host, false, side);
    case CU_MEMORYTYPE_DEVICE:
      return side_in_memory(description, region, device, true, side);
    case CU_MEMORYTYPE_UNIFIED:
      return side_in_memory(description, region, device, memory_kind_of(device) == MEMORY_DEVICE, side);
    case CU_MEMORYTYPE_ARRAY:
      return side_in_array(description, region, side);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

/** Rows, and then slices, that lie one after the other on both sides become one. */
static void merge_rows(struct copy3d *region) {
  if (region->from.array || region->to.array) return;
  if (region->from.pitch == region->width && region->to.pitch == region->width) {
    region->width *= region->height;
    region->height = 1;
    if (region->depth > 1 && region->from.slicePitch == region->width && region->to.slicePitch == region->width) {
      region->width *= region->depth;
      region->depth = 1;
    }
  }
}

static bool is_row(const struct copy3d *region) { return region->height == 1 && region->depth == 1; }

static uint64_t row_at(const struct side *side, uint64_t y, uint64_t z) {
  return side->address + z * side->slicePitch + y * side->pitch;
}

static CUresult copy_on_host(const struct copy3d *region) {
  for (uint64_t z = 0; z < region->depth; z++) {
    for (uint64_t y = 0; y < region->height; y++) {
      // side_in_memory refuses address 0. NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker)
      memmove((void *)(uintptr_t)row_at(&region->to, y, z),
              (const void *)(uintptr_t)row_at(&region->from, y, z), region->width);
    }
  }
  return CUDA_SUCCESS;
}

/** The part of a region that begins at (x, y, z) and is not larger than a frame can carry. */
static struct copy_extent piece_at(const struct copy3d *region, uint64_t x, uint64_t y, uint64_t z) {
  if (region->width > MAX_DATA_BYTES || x) {
    uint64_t left = region->width - x;
    return (struct copy_extent){left < MAX_DATA_BYTES ? left : MAX_DATA_BYTES, 1, 1};
  }
  uint64_t rows = MAX_DATA_BYTES / region->width;
  if (rows < region->height || y) {
    uint64_t left = region->height - y;
    return (struct copy_extent){region->width, left < rows ? left : rows, 1};
  }
  uint64_t slices = rows / region->height, left = region->depth - z;
  return (struct copy_extent){region->width, region->height, left < slices ? left : slices};
}

static CUresult send_piece(struct context *context, uint32_t stream, const struct copy3d *region,
                           const struct copy_extent *piece, uint64_t x, uint64_t y, uint64_t z,
                           uint8_t *buffer) {
  const struct side *from = &region->from;
  struct side to = region->to;
  if (to.array) {
    to.x += x;
    to.y += y;
    to.z += z;
  } else {
    to.address = row_at(&to, y, z) + x;
  }
  const uint8_t *data = (const uint8_t *)(uintptr_t)(row_at(from, y, z) + x);
  bool tight = (piece->height == 1 || from->pitch == piece->width) &&
               (piece->depth == 1 || from->slicePitch == piece->width * piece->height);
  if (!tight) {
    uint8_t *at = buffer;
    for (uint64_t slice = 0; slice < piece->depth; slice++) {
      for (uint64_t row = 0; row < piece->height; row++, at += piece->width) {
        memcpy(at, data + slice * from->slicePitch + row * from->pitch, piece->width);
      }
    }
    data = buffer;
  }
  return op_write3D(context->number, SIDE(to), piece->width, piece->height, piece->depth, stream,
                     data, piece->width * piece->height * piece->depth);
}

static CUresult copy_to_region(struct context *context, uint32_t stream, const struct copy3d *region) {
  uint8_t *buffer = NULL;
  if (!is_row(region) && !(buffer = malloc(MAX_DATA_BYTES))) return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult result = CUDA_SUCCESS;
  const struct side *from = &region->from;
  bool tight = from->pitch == region->width && from->slicePitch == region->width * region->height;
  struct loan loan;
  // The buffer is used again for each piece, and cannot be lent.
  if (tight) loan_begin(&loan, connection_of(context->number));
  for (uint64_t x = 0, y = 0, z = 0; z < region->depth && !result;) {
    struct copy_extent piece = piece_at(region, x, y, z);
    result = send_piece(context, stream, region, &piece, x, y, z, buffer);
    x += piece.width;
    if (x < region->width) continue;
    x = 0;
    y += piece.height;
    if (y < region->height) continue;
    y = 0;
    z += piece.depth;
  }
  if (tight) loan_end(&loan, LOAN_RETURNED);
  free(buffer);
  return result;
}

/** Has the region fetched; it is there when the stream has come to here. */
static CUresult copy_from_region(struct context *context, uint32_t stream, const struct copy3d *region) {
  const struct side *to = &region->to;
  uint64_t bytes;
  if (!span(region, to, &bytes)) return CUDA_ERROR_INVALID_VALUE;
  struct rows rows = {.rowBytes = region->width,
                      .pitch = to->pitch,
                      .rowsPerSlice = region->height,
                      .slicePitch = to->slicePitch,
                      .packedBytes = region->width * region->height * region->depth};
  struct call *copy = copy_open_rows(connection_of(context->number),
                                     (void *)(uintptr_t)to->address, bytes, &rows);
  if (!copy) return CUDA_ERROR_OUT_OF_MEMORY;
  return op_read3D(context->number, copy->tag, SIDE(region->from), region->width, region->height,
                    region->depth, stream);
}

static CUresult copy_in_stream(struct context *context, uint32_t stream, const struct copy3d *region) {
  const struct side *from = &region->from, *to = &region->to;
  bool row = is_row(region) && !from->array && !to->array;
  if (to->device && from->device) {
    if (row) return copy_on_device(context, stream, to->address, from->address, region->width);
    return op_copy3D(context->number, SIDE(*to), SIDE(*from), region->width, region->height, region->depth,
                      stream);
  }
  if (to->device) {
    const void *source = (const void *)(uintptr_t)from->address;
    if (row) return copy_to_device(context, stream, to->address, source, region->width, LOAN_RETURNED);
    return copy_to_region(context, stream, region);
  }
  void *destination = (void *)(uintptr_t)to->address;
  if (row) return copy_from_device_posted(context, stream, destination, from->address, region->width);
  return copy_from_region(context, stream, region);
}

/** patient: bytes for pageable memory may come later, as those for page-locked memory do. */
static CUresult copy_here(const struct copy3d *region, struct context *context, uint32_t stream, bool wait,
                          bool patient) {
  CUresult result = CUDA_SUCCESS;
  bool toHost = !region->to.device, fromHost = !region->from.device;
  if (toHost && fromHost) {
    result = stream_wait(context, stream);
    return result ? result : copy_on_host(region);
  }
  if (fromHost) {
    uint64_t bytes;
    if (!span(region, &region->from, &bytes)) return CUDA_ERROR_INVALID_VALUE;
    result = copy_settle_source(context, stream, (const void *)(uintptr_t)region->from.address, bytes);
  }
  if (!result) result = copy_in_stream(context, stream, region);
  if (result) return result;
  if (toHost) {
    bool pinned = memory_kind_of(region->to.address) == MEMORY_PINNED;
    return wait || !(pinned || patient) ? stream_wait(context, stream) : CUDA_SUCCESS;
  }
  if (wait && !region->to.array && copy_is_seen(region->to.address)) return stream_wait(context, stream);
  return fromHost && wait ? copy_to_device_done(context, stream, false) : CUDA_SUCCESS;
}

/** The context whose connection a side is on, or otherwise. */
static struct context *owner(const struct side *side, struct context *otherwise) {
  if (!side->device) return NULL;
  return side->array ? side->array->context : memory_context(side->address, otherwise);
}

/** Memory in which a region lies row after row. */
static CUresult make_tight(const struct copy3d *region, struct context *context, uint32_t stream,
                           struct side *tight) {
  uint64_t bytes = region->width * region->height * region->depth;
  *tight = (struct side){.device = true,
                         .pitch = region->width,
                         .rows = region->height,
                         .slicePitch = region->width * region->height};
  return context_result(context, op_memAllocAsync(context->number, bytes, NUMBER_NULL, stream,
                                                  &tight->address));
}

/** From one connection to another: gathered there, fetched, scattered here. */
static CUresult across(const struct copy3d *region, struct context *context, uint32_t stream,
                       struct context *to, struct context *from) {
  uint64_t bytes = region->width * region->height * region->depth;
  if (is_row(region) && !region->from.array && !region->to.array) {
    return route_copy(context, stream, region->to.address, to, region->from.address, from, bytes);
  }
  struct copy3d gather = *region, scatter = *region;
  uint32_t there, here;
  CUresult result = route_guest(from, &there);
  if (!result) result = route_guest(to, &here);
  if (!result) result = make_tight(region, from, there, &gather.to);
  if (result) return result;
  result = make_tight(region, to, here, &scatter.from);
  if (!result) {
    result = route_after(from, there, context, stream);
    if (!result) result = copy_in_stream(from, there, &gather);
    if (!result) result = route_after(to, here, from, there);
    if (!result) {
      result = route_copy(to, here, scatter.from.address, to, gather.to.address, from, bytes);
    }
    if (!result) result = copy_in_stream(to, here, &scatter);
    op_memFreeAsync(to->number, scatter.from.address, here);
    route_after(from, there, to, here);
    if (!result) result = route_after(context, stream, to, here);
  }
  op_memFreeAsync(from->number, gather.to.address, there);
  return result;
}

static CUresult copy(struct copy3d *region, struct context *context, uint32_t stream, bool wait,
                     bool patient) {
  merge_rows(region);
  bool betweenDevices = wait && region->from.device && region->to.device;
  if (!connections_several() && !betweenDevices) return copy_here(region, context, stream, wait, patient);
  struct context *to = owner(&region->to, context), *from = owner(&region->from, context);
  if (betweenDevices && (to != context || from != context)) {
    struct route ordered;
    CUresult result = route_devices_begin(&ordered, context, stream, to, from);
    if (!result) result = copy(region, ordered.context, ordered.stream, false, patient);
    result = route_devices_end(&ordered, from, result);
    return !result && copy_is_seen(region->to.address) ? stream_wait(context, stream) : result;
  }
  if (to && from && !connection_same(to->number, from->number)) {
    return across(region, context, stream, to, from);
  }
  struct route route;
  CUresult result = route_begin(&route, context, stream, to ? to : from);
  if (!result) {
    // A fence on this connection does not tell that data has come on another one.
    bool elsewhere = route.home && !to;
    result = copy_here(region, route.context, route.stream, wait || elsewhere, patient && !elsewhere);
  }
  return route_end(&route, result);
}

/** A region with both its sides. */
static CUresult box_of(const struct copy_operand *from, const struct copy_operand *to,
                       const struct copy_extent *extent, struct copy3d *region) {
  *region = (struct copy3d){.width = extent->width, .height = extent->height, .depth = extent->depth};
  CUresult result = side_of(from, region, &region->from);
  return result ? result : side_of(to, region, &region->to);
}

static bool is_nothing(const struct copy_extent *extent) {
  return !extent->width || !extent->height || !extent->depth;
}

static CUDA_MEMCPY3D describe(const struct copy_operand *from, const struct copy_operand *to,
                              const struct copy_extent *extent) {
  return (CUDA_MEMCPY3D){
      .srcXInBytes = from->x,
      .srcY = from->y,
      .srcZ = from->z,
      .srcMemoryType = from->memoryType,
      .srcHost = from->host,
      .srcDevice = from->device,
      .srcArray = from->array,
      .srcPitch = from->pitch,
      .srcHeight = from->sliceRows,
      .dstXInBytes = to->x,
      .dstY = to->y,
      .dstZ = to->z,
      .dstMemoryType = to->memoryType,
      .dstHost = (void *)(uintptr_t)to->host,
      .dstDevice = to->device,
      .dstArray = to->array,
      .dstPitch = to->pitch,
      .dstHeight = to->sliceRows,
      .WidthInBytes = extent->width,
      .Height = extent->height,
      .Depth = extent->depth,
  };
}

CUresult copy3d(const struct copy_operand *from, const struct copy_operand *to,
                  const struct copy_extent *extent, CUstream handle, bool wait) {
  struct copy3d region;
  struct context *context;
  uint32_t stream;
  if (is_nothing(extent)) return CUDA_SUCCESS;
  CUresult result = box_of(from, to, extent, &region);
  if (result) return result;
  struct stream *capturing = capture_stream(handle);
  if (UNLIKELY(capturing != NULL)) {
    CUDA_MEMCPY3D whole = describe(from, to, extent);
    return capture_copy_3d(capturing, &whole, wait);
  }
  result = copy_begin(handle, &context, &stream);
  return result ? result : copy(&region, context, stream, wait, false);
}

CUresult copy3d_kind(const struct copy_operand *from, const struct copy_operand *to,
                  const struct copy_extent *extent, enum copy3d_kind *kind) {
  struct copy3d region;
  if (is_nothing(extent)) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = box_of(from, to, extent, &region);
  if (result) return result;
  bool linear = !region.from.array && !region.to.array;
  *kind = region.from.device && region.to.device && linear  ? COPY3D_ON_DEVICE
          : !region.from.device && !region.to.device        ? COPY3D_ON_HOST
                                                      : COPY3D_IN_STREAM;
  return CUDA_SUCCESS;
}

CUresult copy3d_post(struct context *context, uint32_t stream, const struct copy_operand *from,
                  const struct copy_operand *to, const struct copy_extent *extent) {
  struct copy3d region;
  CUresult result = box_of(from, to, extent, &region);
  return result ? result : copy(&region, context, stream, false, true);
}

CUresult copy3d_on_host(const struct copy_operand *from, const struct copy_operand *to,
                     const struct copy_extent *extent) {
  struct copy3d region;
  CUresult result = box_of(from, to, extent, &region);
  return result ? result : copy_on_host(&region);
}
