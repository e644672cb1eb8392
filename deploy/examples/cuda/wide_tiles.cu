// SPDX-License-Identifier: Apache-2.0
// Tiles of several warps: barriers, shuffles, votes and reductions across 64 to 512 threads.
// nvcc: -gencode arch=compute_80,code=compute_80 -std=c++17
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "check.h"

namespace cg = cooperative_groups;

template <int Size>
__device__ void tile_work(const cg::thread_block &block, int value, int *sums, int *firsts, int *any) {
  auto tile = cg::tiled_partition<Size>(block);
  int index = blockIdx.x * (blockDim.x / Size) + tile.meta_group_rank();
  int sum = cg::reduce(tile, value, cg::plus<int>());
  int first = tile.shfl(value, 0);
  int vote = tile.any(value % 97 == 0);
  tile.sync();
  if (tile.thread_rank() == Size - 1) {
    sums[index] = sum;
    firsts[index] = first;
    any[index] = vote;
  }
  tile.sync();
}

template <int Size>
__global__ void work(const int *values, int *sums, int *firsts, int *any) {
  __shared__ cg::block_tile_memory<512> memory;
  cg::thread_block block = cg::this_thread_block(memory);
  int value = values[blockIdx.x * blockDim.x + threadIdx.x];
  for (int turn = 0; turn < 3; turn++) {
    tile_work<Size>(block, value, sums, firsts, any);
  }
}

template <int Size>
void run(const std::vector<int> &values, int blocks, int threads) {
  int tiles = int(values.size()) / Size;
  int *device = device_copy(values), *results;
  CHECK(cudaMalloc(&results, 3 * tiles * sizeof(int)));
  work<Size><<<blocks, threads>>>(device, results, results + tiles, results + 2 * tiles);
  launched();
  std::vector<int> expected(3 * tiles, 0);
  for (int tile = 0; tile < tiles; tile++) {
    expected[tiles + tile] = values[tile * Size];
    for (int i = 0; i < Size; i++) {
      expected[tile] += values[tile * Size + i];
      expected[2 * tiles + tile] |= values[tile * Size + i] % 97 == 0;
    }
  }
  require_equal(host_copy(results, 3 * tiles), expected);
  CHECK(cudaFree(device));
  CHECK(cudaFree(results));
}

int main() {
  const int blocks = 3, threads = 512;
  Numbers numbers(31);
  std::vector<int> values(blocks * threads);
  for (int &value : values) value = int(numbers.next() % 10000);
  run<64>(values, blocks, threads);
  run<128>(values, blocks, threads);
  run<256>(values, blocks, threads);
  run<512>(values, blocks, threads);
  return ok("tiles of 64 to %d threads", threads);
}
