// SPDX-License-Identifier: Apache-2.0
// Launches, and the built-in kernels.
#include "driver.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void run_kernel(struct op *op) {
  struct function *f = op->f;
  char *p = op->user;
  uint64_t u[4] = {0};
  memcpy(u, p, op->a < sizeof u ? op->a : sizeof u);
  if (!strcmp(f->name, "fill")) {
    uint32_t n, v;
    memcpy(&n, p + 8, 4);
    memcpy(&v, p + 12, 4);
    if (is_allocated(u[0], n * 4ull))
      for (uint32_t i = 0; i < n; i++) ((uint32_t *)u[0])[i] = v;
    else
      ((struct context *)op->b)->fault = ILLEGAL_ADDRESS;
  } else if (!strcmp(f->name, "add")) {
    for (uint32_t i = 0; i < (uint32_t)u[3]; i++)
      ((float *)u[2])[i] = ((float *)u[0])[i] + ((float *)u[1])[i];
  } else if (!strcmp(f->name, "sleep")) {
    usleep((useconds_t)u[0]);
  } else if (!strcmp(f->name, "print")) {
    pthread_mutex_lock(&lock);
    printed++;
    pthread_mutex_unlock(&lock);
  } else if (!strcmp(f->name, "assert")) {
    pthread_mutex_lock(&lock);
    asserted++;
    ((struct context *)op->b)->fault = ASSERT;
    pthread_mutex_unlock(&lock);
  } else if (!strcmp(f->name, "fault")) {
    ((struct context *)op->b)->fault = ILLEGAL_ADDRESS;
  }
  free(p);
}

Result cuLaunchKernel(struct function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                      unsigned bz, unsigned shared, struct stream *stream, void **parameters, void **extra) {
  count_call();
  Result result = usable();
  (void)shared;
  if (result) return result;
  if (!gx || !gy || !gz || !bx || !by || !bz || bx * by * bz > 1024) return INVALID_VALUE;
  if (parameters || !extra || extra[0] != (void *)1 || extra[2] != (void *)2) return INVALID_VALUE;
  size_t size = *(size_t *)extra[3];
  load_function(f);
  struct op *op = new_op(run_kernel);
  op->f = f;
  op->user = calloc(1, size + 32);
  memcpy(op->user, extra[1], size);
  op->a = size;
  op->b = (uintptr_t)current;
  return submit(stream, op);
}

struct config {
  unsigned grid[3], block[3], shared;
  struct stream *stream;
  unsigned *attributes, count;
};

Result cuLaunchKernelEx(struct config *c, struct function *f, void **parameters, void **extra) {
  count_call();
  for (unsigned i = 0; i < c->count; i++)
    if (c->attributes[i * 18] == 2 && c->attributes[i * 18 + 2] == 1 && c->grid[0] > 64) return 720;
  return cuLaunchKernel(f, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->shared,
                        c->stream, parameters, extra);
}
