// SPDX-License-Identifier: Apache-2.0
// Three thousand launches and copies behind a host function that takes a second: more than a driver's queue takes.
// Usage: behind_host_function load.ptx
#include <stdatomic.h>
#include <unistd.h>

#include "../../../examples/driver-api/driver.h"

enum { COUNT = 3000, BYTES = 4096 };

static atomic_int host_ran;

static void slow(void *data) {
  (void)data;
  sleep(1);
  atomic_store(&host_ran, 1);
}

int main(int count, char **arguments) {
  if (count != 2) fail("usage: behind_host_function load.ptx");
  alarm(60);
  CUmodule module = driver_start(arguments[1]);
  CUfunction spin;
  CUstream stream;
  CUdeviceptr memory;
  static char host[BYTES];
  CHECK(cuModuleGetFunction(&spin, module, "spin_ns"));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemAlloc(&memory, BYTES));
  CUresult (*cuLaunchHostFunc)(CUstream stream, void (*function)(void *), void *data);
  *(void **)&cuLaunchHostFunc = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuLaunchHostFunc");
  CHECK(cuLaunchHostFunc(stream, slow, NULL));
  unsigned long long nanos = 1000;
  void *parameters[] = {&nanos};
  for (int i = 0; i < COUNT; i++) {
    CHECK(cuLaunchKernel(spin, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
    if (i % 10 == 0) CHECK(cuMemcpyHtoDAsync(memory, host, BYTES, stream));
  }
  CHECK(cuStreamSynchronize(stream));
  if (!atomic_load(&host_ran)) fail("the stream did not wait for its host function");
  puts("all have run");
  return 0;
}
