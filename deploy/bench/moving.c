// SPDX-License-Identifier: Apache-2.0
// A loop as of a training job: each step adds one to a part of its memory, and waits for that. It runs until a line
// comes on its standard input, checks every float of its memory, and tells its steps and its longest call:
// "steps COUNT longest MILLIS ms".
//
// Usage: moving KERNELS.PTX MEBIBYTES PERCENT
//   PERCENT  of the memory that each step changes
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "../examples/driver-api/driver.h"
#include "figures.h"

enum { THREADS = 256, PIECE_FLOATS = 1 << 18 };

static CUfunction add;
static CUdeviceptr weights, ones;

static void step(int floats) {
  void *parameters[] = {&weights, &ones, &weights, &floats};
  unsigned blocks = ((unsigned)floats + THREADS - 1) / THREADS;
  CHECK(cuLaunchKernel(add, blocks, 1, 1, THREADS, 1, 1, 0, NULL, parameters, NULL));
  CHECK(cuCtxSynchronize());
}

static bool is_told(void) {
  struct pollfd input = {STDIN_FILENO, POLLIN, 0};
  return poll(&input, 1, 0) > 0;
}

// Returns the floats that are not what they should be.
static size_t wrong(size_t floats, size_t changing, long steps) {
  static float piece[PIECE_FLOATS];
  size_t found = 0;
  for (size_t at = 0; at < floats; at += PIECE_FLOATS) {
    size_t count = floats - at < PIECE_FLOATS ? floats - at : PIECE_FLOATS;
    CHECK(cuMemcpyDtoH(piece, weights + at * sizeof *piece, count * sizeof *piece));
    for (size_t i = 0; i < count; i++) {
      float expected = at + i < changing ? 1.0F + (float)steps : 1.0F;
      found += memcmp(&piece[i], &expected, sizeof expected) != 0;
    }
  }
  return found;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: moving KERNELS.PTX MEBIBYTES PERCENT\n");
    return 2;
  }
  size_t floats = (size_t)strtoul(argv[2], NULL, 10) << 18;
  size_t changing = floats / 100 * (size_t)strtoul(argv[3], NULL, 10);
  float one = 1;
  unsigned bits;
  memcpy(&bits, &one, sizeof bits);
  CHECK(cuModuleGetFunction(&add, driver_start(argv[1]), "add"));
  CHECK(cuMemAlloc(&weights, floats * sizeof(float)));
  CHECK(cuMemAlloc(&ones, (changing + 1) * sizeof(float)));
  CHECK(cuMemsetD32(weights, bits, floats));
  CHECK(cuMemsetD32(ones, bits, changing + 1));
  CHECK(cuCtxSynchronize());
  printf("ready\n");
  fflush(stdout);
  long steps = 0;
  double longest = 0;
  while (!is_told()) {
    double begin = now_seconds();
    step((int)changing);
    double took = now_seconds() - begin;
    longest = took > longest ? took : longest;
    steps++;
  }
  size_t found = wrong(floats, changing, steps);
  if (found) {
    fprintf(stderr, "moving: %zu of %zu floats are wrong after %ld steps\n", found, floats, steps);
    return 1;
  }
  printf("steps %ld longest %.0f ms\n", steps, longest * 1e3);
  return 0;
}
