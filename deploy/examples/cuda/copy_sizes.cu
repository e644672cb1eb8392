// SPDX-License-Identifier: Apache-2.0
// Large copies after small ones and small ones after large ones, more of each than is under way at
// once.
#include "check.h"

static const size_t kLarge = size_t{24} << 20;
static const size_t kSmall = 5000;
static const int kSmallCopies = 1500;

__global__ void add(int *values, size_t count, int amount) {
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count;
       i += size_t{gridDim.x} * blockDim.x) {
    values[i] += amount;
  }
}

static int *host;
static int *device;
static int expected;

static void verify(const int *values, size_t first, size_t count) {
  for (size_t i = 0; i < count; i++) {
    REQUIRE(values[i] == static_cast<int>(first + i) + expected, "element %zu is %d, not %zu",
        first + i, values[i], first + i + expected);
  }
}

static void grow() {
  add<<<64, 256>>>(device, kLarge, 3);
  launched();
  expected += 3;
}

static void large() {
  std::memset(host, 0, kLarge * sizeof(int));
  CHECK(cudaMemcpyAsync(host, device, kLarge * sizeof(int), cudaMemcpyDeviceToHost, 0));
  CHECK(cudaStreamSynchronize(0));
  verify(host, 0, kLarge);
}

static void small() {
  std::memset(host, 0, kLarge * sizeof(int));
  for (int i = 0; i < kSmallCopies; i++) {
    size_t at = i * kSmall;
    CHECK(cudaMemcpyAsync(
        host + at, device + at, kSmall * sizeof(int), cudaMemcpyDeviceToHost, 0));
  }
  CHECK(cudaStreamSynchronize(0));
  verify(host, 0, kSmallCopies * kSmall);
  int one;
  CHECK(cudaMemcpy(&one, device + 77, sizeof one, cudaMemcpyDeviceToHost));
  verify(&one, 77, 1);
}

int main() {
  CHECK(cudaMallocHost(&host, kLarge * sizeof(int)));
  CHECK(cudaMalloc(&device, kLarge * sizeof(int)));
  for (size_t i = 0; i < kLarge; i++) {
    host[i] = static_cast<int>(i);
  }
  CHECK(cudaMemcpyAsync(device, host, kLarge * sizeof(int), cudaMemcpyHostToDevice, 0));
  CHECK(cudaStreamSynchronize(0));
  for (int round = 0; round < 2; round++) {
    grow();
    large();
    grow();
    small();
  }
  CHECK(cudaFree(device));
  CHECK(cudaFreeHost(host));
  return ok("copies of %zu and of %zu bytes, in turn", kLarge * sizeof(int), kSmall * sizeof(int));
}
