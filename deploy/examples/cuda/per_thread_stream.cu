// SPDX-License-Identifier: Apache-2.0
// nvcc: --default-stream per-thread
// With per-thread default streams, a thread whose stream is held up does not hold up another.
#include <atomic>
#include <thread>

#include "check.h"

__global__ void increment(int *value) { *value += 1; }

int main() {
  int *first, *second;
  CHECK(cudaMalloc(&first, sizeof(int)));
  CHECK(cudaMalloc(&second, sizeof(int)));
  CHECK(cudaMemset(first, 0, sizeof(int)));
  CHECK(cudaMemset(second, 0, sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  std::atomic<bool> go{false}, held{false};
  std::thread waiting([&] {
    // This thread's default stream waits in a host function until the other thread is done.
    CHECK(cudaLaunchHostFunc(cudaStreamPerThread, [](void *flag) {
      while (!static_cast<std::atomic<bool> *>(flag)->load()) {
        std::this_thread::yield();
      }
    }, &go));
    increment<<<1, 1>>>(first);
    launched();
    EXPECT(cudaErrorNotReady, cudaStreamQuery(0));
    held = true;
    CHECK(cudaStreamSynchronize(0));
  });
  while (!held) {
    std::this_thread::yield();
  }
  for (int i = 0; i < 100; i++) {
    increment<<<1, 1>>>(second);
  }
  launched();
  CHECK(cudaStreamSynchronize(0));
  int result;
  CHECK(cudaMemcpy(&result, second, sizeof result, cudaMemcpyDeviceToHost));
  REQUIRE(result == 100, "the second thread counted %d", result);
  REQUIRE(!go, "the first thread went on too early");
  go = true;
  waiting.join();
  CHECK(cudaMemcpy(&result, first, sizeof result, cudaMemcpyDeviceToHost));
  REQUIRE(result == 1, "the first thread counted %d", result);
  CHECK(cudaFree(first));
  CHECK(cudaFree(second));
  return ok("two threads, each on its own default stream");
}
