// SPDX-License-Identifier: Apache-2.0
// Work of several threads, all of whose bytes are checked, for connections that break under it: copies both ways from
// and to pageable and page-locked memory, launches and events. Arguments: kernels.ptx, a number of rounds or
// until-end-of-input, and how many MiB are written once at first and checked at the end (default: 0). Where many run at
// once, fewer VALUES and a pause between rounds leave each of them time.
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "../../../examples/driver-api/driver.h"

#ifndef VALUES
#define VALUES 300001
#define PAUSE_MICROS 0
#endif

enum { THREADS = 3, COUNT = VALUES, BYTES = COUNT * (int)sizeof(unsigned) };

static CUfunction increment;
static CUcontext context;
static int rounds;  // 0: until the end of the input.
static atomic_int ended;

static unsigned pattern(unsigned thread, unsigned round, unsigned i) {
  return (i * 2654435761u) ^ (thread * 40503u + round * 69069u);
}

static void fill(unsigned *values, unsigned thread, unsigned round) {
  for (unsigned i = 0; i < COUNT; i++) values[i] = pattern(thread, round, i);
}

static void require(const unsigned *values, unsigned thread, unsigned round, unsigned more, const char *where) {
  for (unsigned i = 0; i < COUNT; i++) {
    if (values[i] != pattern(thread, round, i) + more) {
      fail("thread %u round %u: value %u of %s is %u, not %u", thread, round, i, where, values[i],
           pattern(thread, round, i) + more);
    }
  }
}

static void launch(CUdeviceptr values, int amount, CUdeviceptr launches, CUstream stream) {
  int count = COUNT;
  void *parameters[] = {&values, &count, &amount, &launches};
  CHECK(cuLaunchKernel(increment, (COUNT + 255) / 256, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
}

static void one_round(unsigned thread, unsigned round, CUdeviceptr device[2], CUdeviceptr launches, unsigned *pageable,
                      unsigned *locked, CUstream stream, CUevent event) {
  // From pageable memory: taken over when the call returns, so it may be overwritten at once.
  fill(pageable, thread, round);
  CHECK(cuMemcpyHtoDAsync(device[0], pageable, BYTES, stream));
  memset(pageable, 0xa5, BYTES);
  // From page-locked memory: it stays as it is until the event.
  fill(locked, thread, round + 1);
  CHECK(cuMemcpyHtoDAsync(device[1], locked, BYTES, stream));
  CHECK(cuEventRecord(event, stream));
  for (int i = 1; i <= 50; i++) launch(device[0], i, launches, stream);
  CHECK(cuEventSynchronize(event));
  CHECK(cuMemcpyDtoHAsync(locked, device[0], BYTES, stream));
  CHECK(cuMemcpyDtoHAsync(pageable, device[1], BYTES, stream));
  CHECK(cuStreamSynchronize(stream));
  require(locked, thread, round, 50 * 51 / 2, "page-locked memory");
  require(pageable, thread, round + 1, 0, "pageable memory");
}

static void *run(void *argument) {
  unsigned thread = (unsigned)(uintptr_t)argument;
  CUdeviceptr device[2], launches;
  CUstream stream;
  CUevent event;
  unsigned *locked, *pageable = malloc(BYTES), launched = 0;
  if (pageable == NULL) fail("no memory");
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CHECK(cuMemAlloc(&device[0], BYTES));
  CHECK(cuMemAlloc(&device[1], BYTES));
  CHECK(cuMemAlloc(&launches, sizeof launched));
  CHECK(cuMemsetD32(launches, 0, 1));
  CHECK(cuCtxSynchronize());
  CHECK(cuMemAllocHost((void **)&locked, BYTES));
  int round = 0;
  for (; rounds > 0 ? round < rounds : !atomic_load(&ended); round++) {
    one_round(thread, (unsigned)round, device, launches, pageable, locked, stream, event);
    if (PAUSE_MICROS > 0) usleep(PAUSE_MICROS);
  }
  CHECK(cuMemcpyDtoH(&launched, launches, sizeof launched));
  if (launched != (unsigned)round * 50) fail("thread %u: %u launches ran, not %u", thread, launched, round * 50);
  CHECK(cuMemFreeHost(locked));
  free(pageable);
  return NULL;
}

// Memory of the GPU that has something else in each of its places.
static CUdeviceptr hold(unsigned *values, size_t bytes) {
  CUdeviceptr held;
  for (size_t i = 0; i < bytes / sizeof *values; i++) values[i] = pattern(THREADS, 0, (unsigned)i);
  CHECK(cuMemAlloc(&held, bytes));
  CHECK(cuMemcpyHtoD(held, values, bytes));
  return held;
}

static void require_held(CUdeviceptr held, unsigned *values, size_t bytes) {
  memset(values, 0, bytes);
  CHECK(cuMemcpyDtoH(values, held, bytes));
  for (size_t i = 0; i < bytes / sizeof *values; i++) {
    if (values[i] != pattern(THREADS, 0, (unsigned)i)) fail("value %zu of the memory that is held is %u", i, values[i]);
  }
}

int main(int argc, char **argv) {
  CUmodule module = driver_start(argc > 1 ? argv[1] : "kernels.ptx");
  rounds = argc <= 2 ? 5 : strcmp(argv[2], "until-end-of-input") == 0 ? 0 : atoi(argv[2]);
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuModuleGetFunction(&increment, module, "increment"));
  size_t bytes = (argc <= 3 ? 0 : (size_t)atoi(argv[3])) << 20;
  unsigned *values = bytes > 0 ? malloc(bytes) : NULL;
  if (bytes > 0 && values == NULL) fail("no memory");
  CHECK(cuCtxSetCurrent(context));
  CUdeviceptr held = bytes > 0 ? hold(values, bytes) : 0;
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++) {
    if (pthread_create(&threads[i], NULL, run, (void *)i) != 0) fail("no thread");
  }
  while (rounds == 0 && getchar() != EOF) {
  }
  atomic_store(&ended, 1);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  if (bytes > 0) require_held(held, values, bytes);
  free(values);
  printf("resumed: OK\n");
  return 0;
}
