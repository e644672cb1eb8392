// SPDX-License-Identifier: Apache-2.0
// One thread posts work; another, told by a flag in host memory, reads it at once: never stale (argument: how often;
// 2,000).
#include <atomic>
#include <thread>

#include "check.h"

__global__ void store(int *value, int round) { *value = round; }

int main(int argc, char **argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 2000;
  int *value;
  CHECK(cudaMalloc(&value, sizeof(int)));
  CHECK(cudaMemset(value, 0, sizeof(int)));
  std::atomic<int> posted{0}, read{0};
  std::thread writer([&] {
    for (int round = 1; round <= rounds; round++) {
      if (round % 2 == 0) {
        store<<<1, 1>>>(value, round);
        launched();
      } else {
        CHECK(cudaMemcpyAsync(value, &round, sizeof round, cudaMemcpyHostToDevice, 0));
      }
      posted.store(round, std::memory_order_release);
      while (read.load(std::memory_order_acquire) != round) {
        std::this_thread::yield();
      }
    }
  });
  for (int round = 1; round <= rounds; round++) {
    while (posted.load(std::memory_order_acquire) != round) {
      std::this_thread::yield();
    }
    int seen = -1;
    CHECK(cudaMemcpy(&seen, value, sizeof seen, cudaMemcpyDeviceToHost));
    REQUIRE(seen == round, "round %d read %d", round, seen);
    read.store(round, std::memory_order_release);
  }
  writer.join();
  CHECK(cudaFree(value));
  return ok("%d rounds", rounds);
}
