// SPDX-License-Identifier: Apache-2.0
// Copies between the first GPU and the last, there and back, of which the host sees nothing but a sum: where the two
// are of different servers, the bytes go from one to the other. With an argument it waits for a line before it ends.
// gpus: 2
#include "check.h"

constexpr size_t COUNT = 2 << 20;
constexpr size_t BYTES = COUNT * sizeof(unsigned);
constexpr unsigned ROUNDS = 8;

__global__ void fill(unsigned *values, unsigned seed) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  values[i] = (unsigned)i * 2654435761u + seed;
}

__global__ void change(unsigned *values, unsigned round) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  values[i] = values[i] * 3 + round;
}

__global__ void sum(const unsigned *values, unsigned long long *total) {
  unsigned long long own = 0;
  for (size_t i = threadIdx.x; i < COUNT; i += blockDim.x) {
    own += values[i];
  }
  atomicAdd(total, own);
}

static void launch_change(int device, unsigned *values, unsigned round) {
  CHECK(cudaSetDevice(device));
  change<<<COUNT / 256, 256>>>(values, round);
  launched();
}

int main(int count, char **) {
  int devices;
  CHECK(cudaGetDeviceCount(&devices));
  int last = devices - 1;
  unsigned *here, *there;
  unsigned long long *total;
  CHECK(cudaSetDevice(last));
  CHECK(cudaMalloc(&there, BYTES));
  CHECK(cudaSetDevice(0));
  CHECK(cudaMalloc(&here, BYTES));
  CHECK(cudaMalloc(&total, sizeof *total));
  CHECK(cudaMemset(total, 0, sizeof *total));
  fill<<<COUNT / 256, 256>>>(here, 7);
  launched();
  for (unsigned round = 0; round < ROUNDS; round++) {
    CHECK(cudaMemcpyPeer(there, last, here, 0, BYTES));
    launch_change(last, there, 2 * round);
    CHECK(cudaMemcpyPeer(here, 0, there, last, BYTES));
    launch_change(0, here, 2 * round + 1);
  }
  sum<<<1, 256>>>(here, total);
  launched();
  unsigned long long found, expected = 0;
  CHECK(cudaMemcpy(&found, total, sizeof found, cudaMemcpyDeviceToHost));
  for (size_t i = 0; i < COUNT; i++) {
    unsigned value = (unsigned)i * 2654435761u + 7;
    for (unsigned step = 0; step < 2 * ROUNDS; step++) {
      value = value * 3 + step;
    }
    expected += value;
  }
  REQUIRE(found == expected, "the sum is %llu, not %llu", found, expected);
  int status = ok("%zu bytes copied", 2 * ROUNDS * BYTES);
  fflush(stdout);
  if (count > 1) {
    getchar();
  }
  return status;
}
