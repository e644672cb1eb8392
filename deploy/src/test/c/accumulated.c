// SPDX-License-Identifier: Apache-2.0
// A loop that accumulates in device memory, as a training does: each step depends on all before it, and all memory is
// compared with that of the host, bit for bit. Goes on until its input ends. Arguments: kernels.ptx, and a number of
// processes, each of which does that by itself.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../examples/driver-api/driver.h"

enum {
  PART = 1 << 17,
  PARTS = 48,  // 24 MiB
  PART_BYTES = PART * (int)sizeof(unsigned),
  COMPARE_EACH = 16,
  UPLOAD_EACH = 24,
  PAUSE_MICROS = 4000
};

static unsigned state;

static unsigned next_random(void) {
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

static int input_ended(void) {
  struct pollfd input = {.fd = 0, .events = POLLIN};
  char ignored[64];
  return poll(&input, 1, 0) > 0 && read(0, ignored, sizeof ignored) <= 0;
}

static void compare(CUdeviceptr values, const unsigned *expected, unsigned *got, unsigned part, unsigned step) {
  CHECK(cuMemcpyDtoH(got, values + (CUdeviceptr)part * PART_BYTES, PART_BYTES));
  for (unsigned i = 0; i < PART; i++) {
    unsigned wanted = expected[part * PART + i];
    if (got[i] != wanted) fail("step %u: value %u of part %u is %u, not %u", step, i, part, got[i], wanted);
  }
}

static void run(const char *kernels, unsigned process) {
  CUfunction increment;
  CUdeviceptr values, launches;
  CUmodule module = driver_start(kernels);
  unsigned *expected = calloc(PARTS, PART_BYTES), *got = malloc(PART_BYTES), step = 0, launched = 0;
  if (expected == NULL || got == NULL) fail("no memory");
  CHECK(cuModuleGetFunction(&increment, module, "increment"));
  CHECK(cuMemAlloc(&values, (size_t)PARTS * PART_BYTES));
  CHECK(cuMemAlloc(&launches, sizeof launched));
  CHECK(cuMemsetD32(values, 0, (size_t)PARTS * PART));
  CHECK(cuMemsetD32(launches, 0, 1));
  for (state = process + 1; !input_ended(); step++) {
    unsigned part = next_random() % PARTS, *of_part = expected + part * PART;
    int count = PART, amount = (int)next_random();
    CUdeviceptr at = values + (CUdeviceptr)part * PART_BYTES;
    void *parameters[] = {&at, &count, &amount, &launches};
    if (step % UPLOAD_EACH == 0) {
      for (unsigned i = 0; i < PART; i++) of_part[i] ^= next_random();
      CHECK(cuMemcpyHtoD(at, of_part, PART_BYTES));
    }
    CHECK(cuLaunchKernel(increment, PART / 256, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
    for (unsigned i = 0; i < PART; i++) of_part[i] += (unsigned)amount;
    if (step % COMPARE_EACH == 0) compare(values, expected, got, next_random() % PARTS, step);
    usleep(PAUSE_MICROS);
  }
  for (unsigned part = 0; part < PARTS; part++) compare(values, expected, got, part, step);
  CHECK(cuMemcpyDtoH(&launched, launches, sizeof launched));
  if (launched != step) fail("%u launches ran, not %u", launched, step);
  printf("accumulated: OK, %u steps\n", step);
}

int main(int argc, char **argv) {
  const char *kernels = argc > 1 ? argv[1] : "kernels.ptx";
  int processes = argc > 2 ? atoi(argv[2]) : 1, status, failed = 0;
  for (int i = 1; i < processes; i++) {
    pid_t child = fork();
    if (child < 0) fail("no process: %m");
    if (child == 0) {
      run(kernels, (unsigned)i);
      return 0;
    }
  }
  run(kernels, 0);
  fflush(stdout);
  while (wait(&status) > 0) failed |= status;
  return failed != 0;
}
