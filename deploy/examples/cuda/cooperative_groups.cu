// SPDX-License-Identifier: Apache-2.0
// Tiles of a block with their own shuffles and barriers, and groups of threads that took one branch.
// nvcc: -std=c++17
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "check.h"

namespace cg = cooperative_groups;

__global__ void sums(const int *values, int *by_tile, int *odd, int *block_sum) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
  int i = block.group_index().x * block.size() + block.thread_rank();
  int value = values[i];
  int sum = value;
  for (int offset = tile.size() / 2; offset > 0; offset /= 2) {
    sum += tile.shfl_down(sum, offset);
  }
  if (tile.thread_rank() == 0) {
    by_tile[i / 16] = sum;
  }
  if (value % 2 != 0) {
    cg::coalesced_group together = cg::coalesced_threads();
    if (together.thread_rank() == 0) {
      atomicAdd(odd, int(together.size()));
    }
  }
  __shared__ int total;
  if (block.thread_rank() == 0) {
    total = 0;
  }
  block.sync();
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  int warp_sum = cg::reduce(warp, value, cg::plus<int>());
  if (warp.thread_rank() == 0) {
    atomicAdd(&total, warp_sum);
  }
  block.sync();
  if (block.thread_rank() == 0) {
    block_sum[block.group_index().x] = total;
  }
}

int main() {
  const int blocks = 6, threads = 128, count = blocks * threads;
  Numbers numbers(12);
  std::vector<int> values(count), by_tile(count / 16, 0), block_sum(blocks, 0);
  int odd = 0;
  for (int i = 0; i < count; i++) {
    values[i] = int(numbers.next() % 1000);
    by_tile[i / 16] += values[i];
    block_sum[i / threads] += values[i];
    odd += values[i] % 2;
  }
  int *device_values = device_copy(values);
  int *device_tiles = device_copy(std::vector<int>(count / 16, -1));
  int *device_odd = device_copy(std::vector<int>{0});
  int *device_sums = device_copy(std::vector<int>(blocks, -1));
  sums<<<blocks, threads>>>(device_values, device_tiles, device_odd, device_sums);
  launched();
  require_equal(host_copy(device_tiles, by_tile.size()), by_tile);
  require_equal(host_copy(device_sums, block_sum.size()), block_sum);
  REQUIRE(host_copy(device_odd, 1)[0] == odd, "%d odd values", odd);
  CHECK(cudaFree(device_values));
  CHECK(cudaFree(device_tiles));
  CHECK(cudaFree(device_odd));
  CHECK(cudaFree(device_sums));
  return ok("%d tiles of 16", count / 16);
}
