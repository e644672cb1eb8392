// SPDX-License-Identifier: Apache-2.0
// 16 threads on 16 streams: each adds to its own memory and all to one counter; nothing is lost.
#include <thread>

#include "check.h"

constexpr int THREADS = 16;
constexpr int COUNT = 4096;

__global__ void add(int *values, int count, int amount, unsigned *total) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    values[i] += amount;
  }
  if (i == 0) {
    atomicAdd(total, 1u);
  }
}

static void work(int number, unsigned *total, int rounds) {
  Numbers numbers(100 + number);
  CHECK(cudaSetDevice(0));
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaEvent_t event;
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  int *values, *host;
  CHECK(cudaMalloc(&values, COUNT * sizeof(int)));
  CHECK(cudaMallocHost(&host, COUNT * sizeof(int)));
  CHECK(cudaMemsetAsync(values, 0, COUNT * sizeof(int), stream));
  unsigned expected = 0;
  for (int round = 0; round < rounds; round++) {
    unsigned amount = numbers.next() % 1000;
    expected += amount;
    add<<<COUNT / 256, 256, 0, stream>>>(values, COUNT, amount, total);
    launched();
    if (round % 16 == number) {
      CHECK(cudaMemcpyAsync(host, values, COUNT * sizeof(int), cudaMemcpyDeviceToHost, stream));
      CHECK(cudaEventRecord(event, stream));
      CHECK(cudaEventSynchronize(event));
      for (int i = 0; i < COUNT; i++) {
        REQUIRE(unsigned(host[i]) == expected, "thread %d, round %d: element %d is %d, not %u",
            number, round, i, host[i], expected);
      }
    }
  }
  CHECK(cudaStreamSynchronize(stream));
  std::vector<int> result = host_copy(values, COUNT);
  for (int i = 0; i < COUNT; i++) {
    REQUIRE(unsigned(result[i]) == expected, "thread %d: element %d is %d, not %u", number, i,
        result[i], expected);
  }
  CHECK(cudaEventDestroy(event));
  CHECK(cudaFree(values));
  CHECK(cudaFreeHost(host));
  CHECK(cudaStreamDestroy(stream));
}

int main() {
  const int rounds = 100;
  unsigned *total;
  CHECK(cudaMalloc(&total, sizeof(unsigned)));
  CHECK(cudaMemset(total, 0, sizeof(unsigned)));
  CHECK(cudaDeviceSynchronize());
  std::vector<std::thread> threads;
  for (int i = 0; i < THREADS; i++) {
    threads.emplace_back(work, i, total, rounds);
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  unsigned counted = host_copy(total, 1)[0];
  REQUIRE(counted == unsigned(THREADS * rounds), "%u launches were counted", counted);
  CHECK(cudaFree(total));
  return ok("%d threads, %u launches", THREADS, counted);
}
