// SPDX-License-Identifier: Apache-2.0
// One thread posts work; another, which waits for a flag in host memory, reads the result at once: it is never stale.
// Usage: ordering [kernels.ptx [ROUNDS]]
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "driver.h"

static CUcontext context;
static CUfunction store;
static CUdeviceptr value;
static atomic_int posted, seen;
static int rounds;

static void *post(void *unused) {
  CHECK(cuCtxSetCurrent(context));
  for (int round = 1; round <= rounds; round++) {
    void *parameters[] = {&value, &round};
    switch (round % 3) {
      case 0:
        CHECK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
        break;
      case 1:
        CHECK(cuMemcpyHtoD(value, &round, sizeof round));
        break;
      default:
        CHECK(cuMemsetD32(value, (unsigned int)round, 1));
    }
    atomic_store_explicit(&posted, round, memory_order_release);
    while (atomic_load_explicit(&seen, memory_order_acquire) != round) {
      sched_yield();
    }
  }
  return unused;
}

int main(int argc, char **argv) {
  CUmodule module = driver_start(argc > 1 ? argv[1] : "kernels.ptx");
  rounds = argc > 2 ? atoi(argv[2]) : 10000;
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuModuleGetFunction(&store, module, "store"));
  CHECK(cuMemAlloc(&value, sizeof(int)));
  pthread_t thread;
  if (pthread_create(&thread, NULL, post, NULL) != 0) {
    fail("no second thread");
  }
  for (int round = 1; round <= rounds; round++) {
    while (atomic_load_explicit(&posted, memory_order_acquire) != round) {
      sched_yield();
    }
    int read = -1;
    CHECK(cuMemcpyDtoH(&read, value, sizeof read));
    if (read != round) {
      fail("round %d read %d", round, read);
    }
    atomic_store_explicit(&seen, round, memory_order_release);
  }
  pthread_join(thread, NULL);
  CHECK(cuMemFree(value));
  printf("ordering: OK %d rounds\n", rounds);
  return 0;
}
