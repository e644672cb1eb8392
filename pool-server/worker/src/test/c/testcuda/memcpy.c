// SPDX-License-Identifier: Apache-2.0
// Copies and fills of memory.
#include "driver.h"

#include <stdlib.h>
#include <string.h>

/* CUDA_MEMCPY3D */
struct side {
  size_t x, y, z, lod;
  int type;
  void *host;
  Address device;
  struct array *array;
  void *reserved;
  size_t pitch, rows;
};

struct box {
  struct side from, to;
  size_t width, height, depth;
};

static char *row_of(const struct side *side, size_t y, size_t z) {
  size_t pitch = side->pitch, rows = side->rows;
  char *memory = side->type == 1 ? side->host : (char *)(uintptr_t)side->device;
  if (side->type == 3) {
    pitch = side->array->width * side->array->element;
    rows = side->array->height;
    memory = (char *)(uintptr_t)side->array->memory;
  }
  return memory + ((side->z + z) * rows + side->y + y) * pitch + side->x;
}

static void copy_box(struct op *op) {
  struct box *box = op->f;
  for (size_t z = 0; z < box->depth; z++)
    for (size_t y = 0; y < box->height; y++)
      memmove(row_of(&box->to, y, z), row_of(&box->from, y, z), box->width);
  free(box);
}

static int is_side_good(const struct side *side, const struct box *box) {
  if (side->type == 3)
    return side->x + box->width <= side->array->width * side->array->element &&
           side->y + box->height <= side->array->height && side->z + box->depth <= side->array->depth;
  if (side->type == 1) return 1;
  char *first = row_of(side, 0, 0), *last = row_of(side, box->height - 1, box->depth - 1);
  return last >= first && is_allocated((Address)(uintptr_t)first, (size_t)(last - first) + box->width);
}

Result cuMemcpy3DAsync_v2(const struct box *description, struct stream *stream) {
  count_call();
  Result result = usable();
  if (result) return result;
  if (!is_side_good(&description->from, description) || !is_side_good(&description->to, description))
    return INVALID_VALUE;
  struct op *op = new_op(copy_box);
  op->f = malloc(sizeof *description);
  memcpy(op->f, description, sizeof *description);
  return submit(stream, op);
}

static void copy(struct op *op) {
  memmove((void *)op->a, (void *)op->b, op->c);
  free(op->user);
}

static Result copy_async(struct stream *stream, Address target, Address source, size_t size, void *staged) {
  struct op *op = new_op(copy);
  op->user = staged;
  op->a = target;
  op->b = source;
  op->c = size;
  return submit(stream, op);
}

Result cuMemcpyHtoDAsync_v2(Address target, void *source, size_t size, struct stream *stream) {
  count_call();
  Result result = usable();
  if (result) return result;
  if (!is_allocated(target, size)) return INVALID_VALUE;
  if (size > 65536) return copy_async(stream, target, (uintptr_t)source, size, NULL);
  /* A short source has been read when this returns. */
  void *staged = malloc(size + 1);
  memcpy(staged, source, size);
  return copy_async(stream, target, (uintptr_t)staged, size, staged);
}

Result cuMemcpyDtoHAsync_v2(void *target, Address source, size_t size, struct stream *stream) {
  count_call();
  Result result = usable();
  if (result) return result;
  return is_allocated(source, size) ? copy_async(stream, (uintptr_t)target, source, size, NULL) : INVALID_VALUE;
}

Result cuMemcpyDtoDAsync_v2(Address target, Address source, size_t size, struct stream *stream) {
  count_call();
  Result result = usable();
  if (result) return result;
  if (!is_allocated(target, size) || !is_allocated(source, size)) return INVALID_VALUE;
  return copy_async(stream, target, source, size, NULL);
}

static void set(struct op *op) {
  for (uint64_t i = 0; i < op->b; i++)
    memcpy((char *)op->a + i * op->d, &op->c, op->d);
}

static Result set_async(struct stream *stream, Address target, unsigned value, size_t count, size_t width) {
  count_call();
  Result result = usable();
  if (result) return result;
  if (!is_allocated(target, count * width)) return INVALID_VALUE;
  struct op *op = new_op(set);
  op->a = target;
  op->b = count;
  op->c = value;
  op->d = width;
  return submit(stream, op);
}

Result cuMemsetD8Async(Address target, unsigned char value, size_t count, struct stream *stream) {
  return set_async(stream, target, value, count, 1);
}

Result cuMemsetD16Async(Address target, unsigned short value, size_t count, struct stream *stream) {
  return set_async(stream, target, value, count, 2);
}

Result cuMemsetD32Async(Address target, unsigned value, size_t count, struct stream *stream) {
  return set_async(stream, target, value, count, 4);
}
