// SPDX-License-Identifier: Apache-2.0
// A program that works now and then, and checks all of its memory each time: for leases that are suspended meanwhile.
// Arguments: kernels.ptx, its memory in MiB, a number of rounds or until-end-of-input, and the time between two rounds
// in milliseconds, which is drawn from zero to twice that by the seed that follows.
#include <poll.h>
#include <time.h>

#include "../../../examples/driver-api/driver.h"

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/** Waits; true if the input has ended. */
static int idle(int millis) {
  struct pollfd input = {.fd = 0, .events = POLLIN};
  char byte;
  return poll(&input, 1, millis) > 0 && fread(&byte, 1, 1, stdin) == 0;
}

int main(int argc, char **argv) {
  if (argc != 6) fail("usage: waking KERNELS MIB ROUNDS|until-end-of-input MILLIS SEED");
  CUmodule module = driver_start(argv[1]);
  int count = atoi(argv[2]) * (1 << 18), rounds = atoi(argv[3]), millis = atoi(argv[4]);
  size_t bytes = (size_t)count * sizeof(unsigned);
  srand((unsigned)atoi(argv[5]));
  CUcontext context;
  CUfunction increment;
  CUdeviceptr values, launches;
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleGetFunction(&increment, module, "increment"));
  CHECK(cuMemAlloc(&values, bytes));
  CHECK(cuMemAlloc(&launches, sizeof(unsigned)));
  CHECK(cuMemsetD32(launches, 0, 1));
  unsigned *host = malloc(bytes);
  if (host == NULL) fail("no memory");
  for (int i = 0; i < count; i++) host[i] = (unsigned)i * 2654435761u;
  CHECK(cuMemcpyHtoD(values, host, bytes));
  double longest = 0;
  int round = 0, ended = 0;
  for (; rounds > 0 ? round < rounds : !ended; round++) {
    ended = idle(millis > 0 ? rand() % (2 * millis) : 0);
    double begin = now();
    int amount = round + 1;
    void *parameters[] = {&values, &count, &amount, &launches};
    CHECK(cuLaunchKernel(increment, (unsigned)(count + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
    CHECK(cuMemcpyDtoH(host, values, bytes));
    if (now() - begin > longest) longest = now() - begin;
    unsigned more = (unsigned)amount * (unsigned)(amount + 1) / 2;
    for (int i = 0; i < count; i++) {
      if (host[i] != (unsigned)i * 2654435761u + more) {
        fail("round %d: value %d is %u, not %u", round, i, host[i], (unsigned)i * 2654435761u + more);
      }
    }
    printf("round %d\n", round);
    fflush(stdout);
  }
  printf("waking: OK, %d rounds, the longest took %.2f s\n", round, longest);
  return 0;
}
