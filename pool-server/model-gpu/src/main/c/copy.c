// SPDX-License-Identifier: Apache-2.0
// Copies and fills, which are real. Those between host and card have a copy engine, those on the card the
// card itself.
#include "array.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>

enum { STAGED_BYTES = 64 << 10, MEMORY_HOST = 1, MEMORY_DEVICE = 2, MEMORY_ARRAY = 3 };

static bool copy(struct work *work) {
  memmove((void *)(uintptr_t)work->a, (void *)(uintptr_t)work->b, work->c);
  return true;
}

static struct work *copy_work(const struct stream *stream, enum work_kind kind, uint64_t bytes) {
  bool onCard = kind == WORK_KERNEL;
  uint64_t speed = onCard ? options.fillBytesPerSecond : options.copyBytesPerSecond;
  struct work *work = stream_work(stream, kind, nanos_of(bytes, speed) + 1);
  work->multiprocessors = onCard ? options.multiprocessors : 0;
  return work;
}

/** Copies within one context, or from one to another: NULL is the current one. */
static CUresult copy_bytes(struct stream *handle, enum work_kind kind, uint64_t target, const struct context *to,
                           uint64_t source, const struct context *from, uint64_t bytes) {
  struct context *context;
  CUresult result = api_begin(&context);
  bool good = result || ((kind == WORK_COPY_OUT || memory_has(target, bytes, (to ? to : context)->device, true)) &&
                         (kind == WORK_COPY_IN || memory_has(source, bytes, (from ? from : context)->device, false)));
  if (!good) result = CUDA_ERROR_INVALID_VALUE;
  if (!result && bytes) {
    struct stream *stream = stream_of(context, handle);
    struct work *work = copy_work(stream, kind, bytes);
    work->action = copy;
    work->a = target;
    work->b = source;
    work->c = bytes;
    // A short source is read before the call returns.
    if (kind == WORK_COPY_IN && bytes <= STAGED_BYTES) {
      work->data = malloc(bytes);
      memcpy(work->data, (void *)(uintptr_t)source, bytes);
      work->b = (uintptr_t)work->data;
    }
    stream_submit(stream, work);
  }
  return api_end(result);
}

API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr target, const void *source, size_t bytes, struct stream *stream) {
  return copy_bytes(stream, WORK_COPY_IN, target, NULL, (uintptr_t)source, NULL, bytes);
}

API CUresult cuMemcpyDtoHAsync_v2(void *target, CUdeviceptr source, size_t bytes, struct stream *stream) {
  return copy_bytes(stream, WORK_COPY_OUT, (uintptr_t)target, NULL, source, NULL, bytes);
}

API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr target, CUdeviceptr source, size_t bytes, struct stream *stream) {
  return copy_bytes(stream, WORK_KERNEL, target, NULL, source, NULL, bytes);
}

API CUresult cuMemcpyPeerAsync(CUdeviceptr target, struct context *to, CUdeviceptr source, struct context *from,
                               size_t bytes, struct stream *stream) {
  if (!to || !from) return CUDA_ERROR_INVALID_CONTEXT;
  return copy_bytes(stream, WORK_KERNEL, target, to, source, from, bytes);
}

CUresult cuStreamSynchronize(struct stream *handle);

API CUresult cuMemcpyHtoD_v2(CUdeviceptr target, const void *source, size_t bytes) {
  CUresult result = cuMemcpyHtoDAsync_v2(target, source, bytes, NULL);
  return result ? result : cuStreamSynchronize(NULL);
}

API CUresult cuMemcpyDtoH_v2(void *target, CUdeviceptr source, size_t bytes) {
  CUresult result = cuMemcpyDtoHAsync_v2(target, source, bytes, NULL);
  return result ? result : cuStreamSynchronize(NULL);
}

// Boxes

static char *row_of(const struct side *side, size_t y, size_t z) {
  size_t pitch = side->pitch, rows = side->rows;
  char *memory = side->type == MEMORY_HOST ? side->host : (char *)(uintptr_t)side->device;
  if (side->type == MEMORY_ARRAY) {
    pitch = side->array->width * side->array->elementBytes;
    rows = side->array->height;
    memory = (char *)(uintptr_t)side->array->address;
  }
  return memory + ((side->z + z) * rows + side->y + y) * pitch + side->x;
}

static bool copy_box(struct work *work) {
  const struct box *box = work->data;
  for (size_t z = 0; z < box->depth; z++) {
    for (size_t y = 0; y < box->height; y++) {
      memmove(row_of(&box->to, y, z), row_of(&box->from, y, z), box->width);
    }
  }
  return true;
}

static bool is_good(const struct stream *stream, const struct side *side, bool writing, const struct box *box) {
  switch (side->type) {
    case MEMORY_HOST:
      return true;
    case MEMORY_DEVICE: {
      char *first = row_of(side, 0, 0), *last = row_of(side, box->height - 1, box->depth - 1);
      return last >= first && memory_has((uintptr_t)first, (size_t)(last - first) + box->width,
                                          stream->context->device, writing);
    }
    case MEMORY_ARRAY:
      return side->x + box->width <= side->array->width * side->array->elementBytes &&
             side->y + box->height <= side->array->height && side->z + box->depth <= side->array->depth;
    default:
      return false;
  }
}

struct work *box_work(struct stream *stream, const struct box *box) {
  bool good = box->width && box->height && box->depth && is_good(stream, &box->from, false, box) &&
              is_good(stream, &box->to, true, box);
  if (!good) return NULL;
  enum work_kind kind = box->from.type == MEMORY_HOST ? WORK_COPY_IN
                        : box->to.type == MEMORY_HOST ? WORK_COPY_OUT
                                                      : WORK_KERNEL;
  struct work *work = copy_work(stream, kind, box->width * box->height * box->depth);
  work->action = copy_box;
  work->data = malloc(sizeof *box);
  memcpy(work->data, box, sizeof *box);
  return work;
}

API CUresult cuMemcpy3DAsync_v2(const struct box *box, struct stream *handle) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result && box->width && box->height && box->depth) {
    struct stream *stream = stream_of(context, handle);
    struct work *work = box_work(stream, box);
    if (work) stream_submit(stream, work);
    result = work ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  return api_end(result);
}

// Fills

static bool fill(struct work *work) {
  const struct fill *fill = work->data;
  for (size_t y = 0; y < fill->height; y++) {
    char *row = (char *)(uintptr_t)(fill->address + y * fill->pitch);
    for (size_t x = 0; x < fill->width; x++) memcpy(row + x * fill->element, &fill->value, fill->element);
  }
  return true;
}

struct work *fill_work(struct stream *stream, const struct fill *wanted) {
  uint64_t row = wanted->width * wanted->element;
  bool good = row && wanted->height && memory_has(wanted->address, (wanted->height - 1) * wanted->pitch + row,
                                                  stream->context->device, true);
  if (!good) return NULL;
  struct work *work = copy_work(stream, WORK_KERNEL, row * wanted->height);
  work->action = fill;
  work->data = malloc(sizeof *wanted);
  memcpy(work->data, wanted, sizeof *wanted);
  return work;
}

static CUresult submit_fill(struct stream *handle, struct fill fill) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result && fill.width && fill.height) {
    struct stream *stream = stream_of(context, handle);
    struct work *work = fill_work(stream, &fill);
    if (work) stream_submit(stream, work);
    result = work ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  return api_end(result);
}

#define FILLS(bits, type) \
  API CUresult cuMemsetD##bits##Async(CUdeviceptr address, type value, size_t count, struct stream *stream) { \
    return submit_fill(stream, (struct fill){address, 0, value, bits / 8, count, 1}); \
  } \
  API CUresult cuMemsetD2D##bits##Async(CUdeviceptr address, size_t pitch, type value, size_t width, \
                                        size_t height, struct stream *stream) { \
    return submit_fill(stream, (struct fill){address, pitch, value, bits / 8, width, height}); \
  }

FILLS(8, unsigned char)
FILLS(16, unsigned short)
FILLS(32, unsigned)
