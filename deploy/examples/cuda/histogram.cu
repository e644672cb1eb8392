// SPDX-License-Identifier: Apache-2.0
// 256 bins: atomics in shared memory for each block, then atomics in global memory.
#include "check.h"

__global__ void histogram(const unsigned char *bytes, int count, unsigned *bins) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) {
    local[i] = 0;
  }
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    atomicAdd(&local[bytes[i]], 1u);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) {
    atomicAdd(&bins[i], local[i]);
  }
}

int main() {
  const int count = 700001;
  Numbers numbers(7);
  std::vector<unsigned char> bytes(count);
  std::vector<unsigned> expected(256, 0);
  for (unsigned char &byte : bytes) {
    unsigned value = numbers.next();
    byte = static_cast<unsigned char>((value & 0xff) & (value >> 8));
    expected[byte]++;
  }
  unsigned char *device_bytes = device_copy(bytes);
  unsigned *bins;
  CHECK(cudaMalloc(&bins, 256 * sizeof(unsigned)));
  CHECK(cudaMemset(bins, 0, 256 * sizeof(unsigned)));
  histogram<<<24, 192>>>(device_bytes, count, bins);
  launched();
  require_equal(host_copy(bins, 256), expected);
  CHECK(cudaFree(device_bytes));
  CHECK(cudaFree(bins));
  return ok("%d bytes", count);
}
