// SPDX-License-Identifier: Apache-2.0
// Arrays indexed at run time live in local memory; recursion and calls through a pointer use a stack.
#include "check.h"

__host__ __device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

__host__ __device__ inline unsigned permute(unsigned seed) {
  unsigned char order[64];
  for (int i = 0; i < 64; i++) {
    order[i] = static_cast<unsigned char>(i);
  }
  for (int i = 63; i > 0; i--) {
    seed = seed * 1664525u + 1013904223u;
    int j = (seed >> 16) % (i + 1);
    unsigned char t = order[i];
    order[i] = order[j];
    order[j] = t;
  }
  unsigned sum = 0;
  for (int i = 0; i < 64; i++) {
    sum = sum * 31 + order[order[i]];
  }
  return sum;
}

__global__ void run(unsigned *permuted, unsigned *called, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    permuted[i] = permute(i);
    called[i] = ackermann(i % 3, i % 5);
  }
}

int main() {
  const int count = 2000;
  unsigned *permuted, *called;
  CHECK(cudaMalloc(&permuted, count * sizeof(unsigned)));
  CHECK(cudaMalloc(&called, count * sizeof(unsigned)));
  CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 8192));
  run<<<(count + 95) / 96, 96>>>(permuted, called, count);
  launched();
  std::vector<unsigned> expected_permuted(count), expected_called(count);
  for (int i = 0; i < count; i++) {
    expected_permuted[i] = permute(i);
    expected_called[i] = ackermann(i % 3, i % 5);
  }
  require_equal(host_copy(permuted, count), expected_permuted);
  require_equal(host_copy(called, count), expected_called);
  CHECK(cudaFree(permuted));
  CHECK(cudaFree(called));
  return ok("%d threads", count);
}
