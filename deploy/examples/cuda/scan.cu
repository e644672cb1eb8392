// SPDX-License-Identifier: Apache-2.0
// Exclusive prefix sum in three launches: blocks, their sums, and the sums added back.
#include "check.h"

constexpr int BLOCK = 256;

__global__ void scan_blocks(const unsigned *input, unsigned *output, unsigned *sums, int count) {
  extern __shared__ unsigned partial[];
  int i = blockIdx.x * BLOCK + threadIdx.x;
  unsigned own = i < count ? input[i] : 0;
  partial[threadIdx.x] = own;
  __syncthreads();
  for (int distance = 1; distance < BLOCK; distance *= 2) {
    unsigned left = threadIdx.x >= distance ? partial[threadIdx.x - distance] : 0;
    __syncthreads();
    partial[threadIdx.x] += left;
    __syncthreads();
  }
  if (i < count) {
    output[i] = partial[threadIdx.x] - own;
  }
  if (threadIdx.x == BLOCK - 1 && sums != nullptr) {
    sums[blockIdx.x] = partial[threadIdx.x];
  }
}

__global__ void add_sums(unsigned *output, const unsigned *sums, int count) {
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < count) {
    output[i] += sums[blockIdx.x];
  }
}

static void scan(const unsigned *input, unsigned *output, int count) {
  int blocks = (count + BLOCK - 1) / BLOCK;
  unsigned *sums = nullptr;
  if (blocks > 1) {
    CHECK(cudaMalloc(&sums, blocks * sizeof(unsigned)));
  }
  scan_blocks<<<blocks, BLOCK, BLOCK * sizeof(unsigned)>>>(input, output, sums, count);
  launched();
  if (blocks > 1) {
    unsigned *scanned;
    CHECK(cudaMalloc(&scanned, blocks * sizeof(unsigned)));
    scan(sums, scanned, blocks);
    add_sums<<<blocks, BLOCK>>>(output, scanned, count);
    launched();
    CHECK(cudaFree(scanned));
    CHECK(cudaFree(sums));
  }
}

int main() {
  const int count = 300007;
  Numbers numbers(5);
  std::vector<unsigned> values(count), expected(count);
  unsigned sum = 0;
  for (int i = 0; i < count; i++) {
    values[i] = numbers.next() % 1000;
    expected[i] = sum;
    sum += values[i];
  }
  unsigned *input = device_copy(values);
  unsigned *output;
  CHECK(cudaMalloc(&output, count * sizeof(unsigned)));
  scan(input, output, count);
  require_equal(host_copy(output, count), expected);
  CHECK(cudaFree(input));
  CHECK(cudaFree(output));
  return ok("%d elements, total %u", count, sum);
}
