// SPDX-License-Identifier: Apache-2.0
// 16 threads on 16 streams: each adds to memory of its own and all to one counter; nothing is lost.
// Usage: threads [kernels.ptx [ROUNDS]]
#include <pthread.h>

#include "driver.h"

enum { THREADS = 16, COUNT = 4096 };

static CUcontext context;
static CUfunction increment;
static CUdeviceptr launches;
static int rounds;

static void verify(const int *values, int expected, long number, int round) {
  for (int i = 0; i < COUNT; i++) {
    if (values[i] != expected) {
      fail("thread %ld, round %d: element %d is %d, not %d", number, round, i, values[i], expected);
    }
  }
}

static void *work(void *argument) {
  long number = (long)argument;
  CUstream stream;
  CUevent event;
  CUdeviceptr values;
  int *host;
  int count = COUNT, expected = 0;
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CHECK(cuMemAlloc(&values, COUNT * sizeof(int)));
  CHECK(cuMemAllocHost((void **)&host, COUNT * sizeof(int)));
  memset(host, 0, COUNT * sizeof(int));
  CHECK(cuMemcpyHtoDAsync(values, host, COUNT * sizeof(int), stream));
  for (int round = 0; round < rounds; round++) {
    int amount = (int)number * 100 + round;
    expected += amount;
    void *parameters[] = {&values, &count, &amount, &launches};
    CHECK(cuLaunchKernel(increment, COUNT / 256, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
    if (round % THREADS == number) {
      CHECK(cuMemcpyDtoHAsync(host, values, COUNT * sizeof(int), stream));
      CHECK(cuEventRecord(event, stream));
      CHECK(cuEventSynchronize(event));
      verify(host, expected, number, round);
    }
  }
  CHECK(cuMemcpyDtoHAsync(host, values, COUNT * sizeof(int), stream));
  CHECK(cuStreamSynchronize(stream));
  verify(host, expected, number, rounds);
  CHECK(cuMemFree(values));
  CHECK(cuMemFreeHost(host));
  CHECK(cuEventDestroy(event));
  CHECK(cuStreamDestroy(stream));
  return NULL;
}

int main(int argc, char **argv) {
  CUmodule module = driver_start(argc > 1 ? argv[1] : "kernels.ptx");
  rounds = argc > 2 ? atoi(argv[2]) : 100;
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuModuleGetFunction(&increment, module, "increment"));
  CHECK(cuMemAlloc(&launches, sizeof(unsigned)));
  CHECK(cuMemsetD32(launches, 0, 1));
  CHECK(cuCtxSynchronize());
  pthread_t threads[THREADS];
  for (long i = 0; i < THREADS; i++) {
    if (pthread_create(&threads[i], NULL, work, (void *)i) != 0) {
      fail("no thread %ld", i);
    }
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
  }
  unsigned counted;
  CHECK(cuMemcpyDtoH(&counted, launches, sizeof counted));
  if (counted != (unsigned)(THREADS * rounds)) {
    fail("%u launches were counted, not %d", counted, THREADS * rounds);
  }
  printf("threads: OK %d threads, %u launches\n", THREADS, counted);
  return 0;
}
