// SPDX-License-Identifier: Apache-2.0
// The occupancy calls answer within the device's limits, and a launch with their advice is right.
#include "check.h"

__global__ void square(int *values, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    values[i] *= values[i];
  }
}

__global__ void heavy(int *values) {
  __shared__ int tile[8192];
  tile[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  values[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

int main() {
  cudaDeviceProp device;
  CHECK(cudaGetDeviceProperties(&device, 0));
  int blocks;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, square, 256, 0));
  REQUIRE(blocks >= 1 && blocks * 256 <= device.maxThreadsPerMultiProcessor,
      "%d blocks of 256 on a multiprocessor", blocks);
  int heavy_blocks;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&heavy_blocks, heavy, 64, 0));
  REQUIRE(heavy_blocks >= 1 &&
          heavy_blocks * 8192 * sizeof(int) <= device.sharedMemPerMultiprocessor,
      "%d blocks with 32 KiB of shared memory", heavy_blocks);
  int least_grid, block;
  CHECK(cudaOccupancyMaxPotentialBlockSize(&least_grid, &block, square, 0, 0));
  REQUIRE(block >= 32 && block <= device.maxThreadsPerBlock && least_grid >= 1,
      "advice: %d blocks of %d", least_grid, block);
  size_t dynamic;
  CHECK(cudaOccupancyAvailableDynamicSMemPerBlock(&dynamic, square, 1, 128));
  REQUIRE(dynamic > 0 && dynamic <= device.sharedMemPerBlockOptin, "%zu bytes for one block",
      dynamic);

  const int count = 54321;
  std::vector<int> values(count), expected(count);
  for (int i = 0; i < count; i++) {
    values[i] = i % 4001;
    expected[i] = values[i] * values[i];
  }
  int *device_values = device_copy(values);
  square<<<(count + block - 1) / block, block>>>(device_values, count);
  launched();
  require_equal(host_copy(device_values, count), expected);
  CHECK(cudaFree(device_values));
  return ok("blocks of %d, %d of 256 fit a multiprocessor", block, blocks);
}
