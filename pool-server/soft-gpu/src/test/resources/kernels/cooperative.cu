// SPDX-License-Identifier: Apache-2.0
// Grid-wide barriers of cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

extern "C" __global__ void rotate(int* data, int rounds) {
  cg::grid_group grid = cg::this_grid();
  int n = grid.size(), i = grid.thread_rank();
  for (int r = 0; r < rounds; r++) {
    int v = data[(i + 1) % n];
    grid.sync();
    data[i] = v + 1;
    grid.sync();
  }
}

extern "C" __global__ void tiles(const int* in, int* out) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
  int v = in[block.thread_rank()];
  int total = cg::reduce(tile, v, cg::plus<int>());
  block.sync();
  cg::coalesced_group odd = cg::coalesced_threads();
  if (v & 1) {
    cg::coalesced_group active = cg::coalesced_threads();
    total += 1000 * active.size();
  }
  out[block.thread_rank()] = total + 100000 * odd.size();
}
