// SPDX-License-Identifier: Apache-2.0
// Host functions and stream callbacks run in the stream's order, between kernels and copies.
#include <atomic>
#include <thread>

#include "check.h"

__global__ void multiply(int *value, int factor) { *value *= factor; }

struct Step {
  int *pinned;
  int expected;
  int number;
  std::atomic<int> *done;
};

static void CUDART_CB on_host(void *data) {
  Step *step = static_cast<Step *>(data);
  if (*step->pinned != step->expected || step->done->load() != step->number) {
    std::printf("host_functions: FAILED step %d saw %d after %d steps, not %d\n", step->number,
        *step->pinned, step->done->load(), step->expected);
    std::fflush(stdout);
    std::_Exit(1);
  }
  *step->pinned += 1;  // what the next copy uploads
  step->done->fetch_add(1);
}

static void CUDART_CB on_callback(cudaStream_t, cudaError_t status, void *data) {
  if (status != cudaSuccess) {
    std::printf("host_functions: FAILED a callback was given status %d\n", status);
    std::fflush(stdout);
    std::_Exit(1);
  }
  on_host(data);
}

int main() {
  const int steps = 40;
  int *pinned, *device;
  CHECK(cudaMallocHost(&pinned, sizeof(int)));
  CHECK(cudaMalloc(&device, sizeof(int)));
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  std::atomic<int> done{0};
  std::vector<Step> all(steps);
  *pinned = 1;
  unsigned value = 1;
  for (int i = 0; i < steps; i++) {
    value *= 3;
    all[i] = {pinned, static_cast<int>(value), i, &done};
    CHECK(cudaMemcpyAsync(device, pinned, sizeof(int), cudaMemcpyHostToDevice, stream));
    multiply<<<1, 1, 0, stream>>>(device, 3);
    CHECK(cudaMemcpyAsync(pinned, device, sizeof(int), cudaMemcpyDeviceToHost, stream));
    if (i % 2 == 0) {
      CHECK(cudaLaunchHostFunc(stream, on_host, &all[i]));
    } else {
      CHECK(cudaStreamAddCallback(stream, on_callback, &all[i], 0));
    }
    value += 1;
  }
  CHECK(cudaStreamSynchronize(stream));
  REQUIRE(done == steps, "%d of %d host functions ran", done.load(), steps);
  REQUIRE(*pinned == static_cast<int>(value), "the last value is %d, not %u", *pinned, value);

  // A host function may wait for another thread of the program, which may use the GPU meanwhile.
  std::atomic<bool> go{false};
  CHECK(cudaLaunchHostFunc(stream, [](void *flag) {
    while (!static_cast<std::atomic<bool> *>(flag)->load()) {
      std::this_thread::yield();
    }
  }, &go));
  std::thread other([&] {
    int *scratch;
    CHECK(cudaMalloc(&scratch, sizeof(int)));
    int seven = 7;
    CHECK(cudaMemcpy(scratch, &seven, sizeof(int), cudaMemcpyHostToDevice));
    REQUIRE(host_copy(scratch, 1)[0] == 7, "the other thread read back another value");
    EXPECT(cudaErrorNotReady, cudaStreamQuery(stream));
    go = true;
    CHECK(cudaFree(scratch));
  });
  CHECK(cudaStreamSynchronize(stream));
  other.join();
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(device));
  CHECK(cudaFreeHost(pinned));
  return ok("%d steps in order", steps);
}
