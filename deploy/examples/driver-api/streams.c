// SPDX-License-Identifier: Apache-2.0
// Events order work in two streams; sums of shuffles and atomics over chunks are exact.
// Usage: streams [kernels.ptx]
#include "driver.h"

int main(int argc, char **argv) {
  enum { COUNT = 100000, CHUNKS = 12 };
  CUmodule module = driver_start(argc > 1 ? argv[1] : "kernels.ptx");
  CUfunction sum, spin;
  CHECK(cuModuleGetFunction(&sum, module, "sum"));
  CHECK(cuModuleGetFunction(&spin, module, "spin"));
  CUstream up, work;
  CUevent uploaded[2], used[2];
  CUdeviceptr values[2], totals;
  int *host;
  unsigned long long *results;
  CHECK(cuStreamCreate(&up, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&work, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemAllocHost((void **)&host, sizeof(int) * COUNT * CHUNKS));
  CHECK(cuMemAllocHost((void **)&results, sizeof(unsigned long long) * CHUNKS));
  CHECK(cuMemAlloc(&totals, sizeof(unsigned long long) * CHUNKS));
  CHECK(cuMemsetD32(totals, 0, 2 * CHUNKS));
  CHECK(cuCtxSynchronize());
  for (int slot = 0; slot < 2; slot++) {
    CHECK(cuMemAlloc(&values[slot], sizeof(int) * COUNT));
    CHECK(cuEventCreate(&uploaded[slot], CU_EVENT_DISABLE_TIMING));
    CHECK(cuEventCreate(&used[slot], 0));
  }
  unsigned long long expected[CHUNKS] = {0};
  for (int i = 0; i < COUNT * CHUNKS; i++) {
    host[i] = (int)((unsigned)i * 2654435761u >> 4);
    expected[i / COUNT] += (unsigned long long)host[i];
  }
  for (int chunk = 0; chunk < CHUNKS; chunk++) {
    int slot = chunk % 2, count = COUNT;
    CUdeviceptr total = totals + sizeof(unsigned long long) * (unsigned)chunk;
    CHECK(cuStreamWaitEvent(up, used[slot], 0));
    CHECK(cuMemcpyHtoDAsync(values[slot], host + chunk * COUNT, sizeof(int) * COUNT, up));
    CHECK(cuEventRecord(uploaded[slot], up));
    CHECK(cuStreamWaitEvent(work, uploaded[slot], 0));
    void *parameters[] = {&values[slot], &count, &total};
    CHECK(cuLaunchKernel(sum, 20, 1, 1, 256, 1, 1, 0, work, parameters, NULL));
    CHECK(cuEventRecord(used[slot], work));
  }
  CHECK(cuMemcpyDtoHAsync(results, totals, sizeof expected, work));
  CHECK(cuStreamSynchronize(work));
  for (int chunk = 0; chunk < CHUNKS; chunk++) {
    if (results[chunk] != expected[chunk]) {
      fail("chunk %d adds up to %llu, not %llu", chunk, results[chunk], expected[chunk]);
    }
  }
  // A long kernel: the stream is not ready while it runs, and another stream is not held up.
  long long rounds = 200000000;
  unsigned value;
  void *parameters[] = {&rounds, &totals};
  CHECK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, work, parameters, NULL));
  if (cuStreamQuery(work) != CUDA_ERROR_NOT_READY) {
    fail("a stream with a long kernel is ready at once");
  }
  CHECK(cuMemcpyHtoDAsync(values[0], host, sizeof(int) * COUNT, up));
  CHECK(cuStreamSynchronize(up));
  if (cuStreamQuery(work) != CUDA_ERROR_NOT_READY) {
    fail("a copy in another stream waited for a long kernel");
  }
  CHECK(cuStreamSynchronize(work));
  CHECK(cuMemcpyDtoH(&value, totals, sizeof value));
  unsigned spun = (unsigned)expected[0];
  for (long long i = 0; i < rounds; i++) {
    spun = spun * 1664525u + 1013904223u;
  }
  if (value != spun) {
    fail("the long kernel gives %u, not %u", value, spun);
  }
  printf("streams: OK %d chunks in two streams\n", CHUNKS);
  return 0;
}
