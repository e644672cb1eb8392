// SPDX-License-Identifier: Apache-2.0
// Arrays indexed at run time live in local memory, whose addresses are handed to functions.
#include "check.h"

__host__ __device__ __noinline__ void swap(unsigned char *a, unsigned char *b) {
  unsigned char t = *a;
  *a = *b;
  *b = t;
}

__host__ __device__ inline unsigned permute(unsigned seed) {
  unsigned char order[64];
  for (int i = 0; i < 64; i++) {
    order[i] = static_cast<unsigned char>(i);
  }
  for (int i = 63; i > 0; i--) {
    seed = seed * 1664525u + 1013904223u;
    int j = (seed >> 16) % (i + 1);
    swap(&order[i], &order[j]);
  }
  unsigned sum = 0;
  for (int i = 0; i < 64; i++) {
    sum = sum * 31 + order[order[i]];
  }
  return sum;
}

__global__ void run(unsigned *permuted, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    permuted[i] = permute(i);
  }
}

int main() {
  const int count = 2000;
  unsigned *permuted;
  CHECK(cudaMalloc(&permuted, count * sizeof(unsigned)));
  CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 8192));
  run<<<(count + 95) / 96, 96>>>(permuted, count);
  launched();
  std::vector<unsigned> expected(count);
  for (int i = 0; i < count; i++) {
    expected[i] = permute(i);
  }
  require_equal(host_copy(permuted, count), expected);
  CHECK(cudaFree(permuted));
  return ok("%d threads", count);
}
