// SPDX-License-Identifier: Apache-2.0
// Prefix sums in one launch: each block looks back at those before it, while they are still at work.
#include "check.h"

const int threads = 128, each = 4, tile = threads * each;
const unsigned long long part = 1ull << 62, whole = 2ull << 62, flags = 3ull << 62;

// A tile's word: what is known of it (nothing, its own sum, the sum of all up to it), and the sum.
__global__ void scan(const unsigned *in, unsigned long long *out, int count, unsigned *next_tile,
    volatile unsigned long long *tiles) {
  __shared__ unsigned mine;
  __shared__ unsigned long long sums[threads], before;
  // The order in which blocks begin, so that nobody waits for a block that has none.
  if (threadIdx.x == 0) mine = atomicAdd(next_tile, 1);
  __syncthreads();
  unsigned long long values[each], sum = 0;
  for (int i = 0; i < each; i++) {
    int at = mine * tile + threadIdx.x * each + i;
    sum += at < count ? in[at] : 0;
    values[i] = sum;
  }
  sums[threadIdx.x] = sum;
  for (int distance = 1; distance < threads; distance *= 2) {
    __syncthreads();
    unsigned long long other = threadIdx.x >= distance ? sums[threadIdx.x - distance] : 0;
    __syncthreads();
    sums[threadIdx.x] += other;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned long long own = sums[threads - 1], all = 0;
    tiles[mine] = (mine == 0 ? whole : part) | own;
    __threadfence();
    for (int at = int(mine) - 1; at >= 0;) {
      unsigned long long seen = tiles[at];
      if ((seen & flags) == 0) continue;
      all += seen & ~flags;
      if ((seen & flags) == whole) break;
      at--;
    }
    if (mine > 0) tiles[mine] = whole | (all + own);
    before = all;
  }
  __syncthreads();
  for (int i = 0; i < each; i++) {
    int at = mine * tile + threadIdx.x * each + i;
    if (at < count) out[at] = before + sums[threadIdx.x] - sum + values[i];
  }
}

int main() {
  const int count = 100003, tiles = (count + tile - 1) / tile;
  Numbers numbers(55);
  std::vector<unsigned> values(count);
  std::vector<unsigned long long> expected(count);
  for (int i = 0; i < count; i++) {
    values[i] = numbers.next();
    expected[i] = (i > 0 ? expected[i - 1] : 0) + values[i];
  }
  unsigned *in = device_copy(values), *next = device_copy(std::vector<unsigned>{0});
  auto *states = device_copy(std::vector<unsigned long long>(tiles, 0)), *out = device_copy(expected);
  for (int round = 0; round < 3; round++) {
    CHECK(cudaMemset(next, 0, sizeof *next));
    CHECK(cudaMemset(states, 0, tiles * sizeof *states));
    CHECK(cudaMemset(out, 0, count * sizeof *out));
    scan<<<tiles, threads>>>(in, out, count, next, states);
    launched();
    require_equal(host_copy(out, count), expected);
  }
  CHECK(cudaFree(in));
  CHECK(cudaFree(next));
  CHECK(cudaFree(states));
  CHECK(cudaFree(out));
  return ok("%d elements in %d tiles", count, tiles);
}
