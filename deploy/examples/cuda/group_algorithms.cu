// SPDX-License-Identifier: Apache-2.0
// Cooperative groups cut by label and by predicate, their scans and reductions, and copies that a group makes.
// nvcc: -std=c++17
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include <algorithm>

#include "check.h"

namespace cg = cooperative_groups;

const int threads = 128;

__global__ void by_label(const int *labels, const int *values, int *sums, int *ranks) {
  int i = blockIdx.x * threads + threadIdx.x;
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  auto group = cg::labeled_partition(warp, labels[i]);
  sums[i] = cg::reduce(group, values[i], cg::plus<int>()) * 1000 + int(group.num_threads());
  ranks[i] = group.thread_rank();
}

__global__ void by_predicate(const int *values, int *out) {
  int i = blockIdx.x * threads + threadIdx.x;
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  auto side = cg::binary_partition(tile, values[i] % 3 == 0);
  int most = cg::reduce(side, values[i], cg::greater<int>());
  int first = side.shfl(values[i], 0);
  out[i] = most * 7 + first + (side.any(values[i] > 900) ? 100000 : 0) + (side.all(values[i] > 20) ? 200000 : 0);
}

__global__ void scans(const int *values, int *exclusive, int *inclusive, float *least) {
  int i = blockIdx.x * threads + threadIdx.x;
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  exclusive[i] = cg::exclusive_scan(tile, values[i]);
  inclusive[i] = cg::inclusive_scan(tile, values[i], cg::bit_xor<int>());
  least[i] = cg::reduce(tile, values[i] * 0.5f, cg::less<float>());
}

__global__ void copies(const int *in, int *out, int count) {
  extern __shared__ int buffer[];
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  // Each warp copies its own quarter, and the last a part of it that is no multiple of anything.
  int *mine = buffer + tile.meta_group_rank() * 256;
  const int *source = in + blockIdx.x * 1024 + tile.meta_group_rank() * 256;
  int length = tile.meta_group_rank() == 3 ? 201 : 256;
  cg::memcpy_async(tile, mine, source, length * sizeof(int));
  cg::wait(tile);
  for (int k = tile.thread_rank(); k < length; k += 32) {
    out[blockIdx.x * 1024 + tile.meta_group_rank() * 256 + k] = mine[length - 1 - k];
  }
}

int main() {
  const int blocks = 8, count = blocks * threads;
  Numbers numbers(50);
  std::vector<int> labels(count), values(count), zero(count);
  for (int i = 0; i < count; i++) {
    labels[i] = int(numbers.next() % 5) - 2;
    values[i] = int(numbers.next() % 1000);
  }
  int *d_labels = device_copy(labels), *d_values = device_copy(values);
  int *a = device_copy(zero), *b = device_copy(zero);
  float *least;
  CHECK(cudaMalloc(&least, count * sizeof(float)));
  by_label<<<blocks, threads>>>(d_labels, d_values, a, b);
  launched();
  std::vector<int> expected(count), ranks(count);
  for (int i = 0; i < count; i++) {
    int sum = 0, size = 0;
    for (int k = i / 32 * 32; k < i / 32 * 32 + 32; k++) {
      if (labels[k] == labels[i]) {
        sum += values[k];
        size++;
        ranks[i] += k < i;
      }
    }
    expected[i] = sum * 1000 + size;
  }
  require_equal(host_copy(a, count), expected);
  require_equal(host_copy(b, count), ranks);

  by_predicate<<<blocks, threads>>>(d_values, a);
  launched();
  for (int i = 0; i < count; i++) {
    int most = 0, first = -1;
    bool any = false, all = true;
    for (int k = i / 16 * 16; k < i / 16 * 16 + 16; k++) {
      if ((values[k] % 3 == 0) != (values[i] % 3 == 0)) continue;
      most = std::max(most, values[k]);
      first = first < 0 ? values[k] : first;
      any = any || values[k] > 900;
      all = all && values[k] > 20;
    }
    expected[i] = most * 7 + first + (any ? 100000 : 0) + (all ? 200000 : 0);
  }
  require_equal(host_copy(a, count), expected);

  scans<<<blocks, threads>>>(d_values, a, b, least);
  launched();
  std::vector<int> exclusive(count), inclusive(count);
  std::vector<float> minima(count);
  for (int i = 0; i < count; i++) {
    exclusive[i] = i % 8 == 0 ? 0 : exclusive[i - 1] + values[i - 1];
    inclusive[i] = values[i] ^ (i % 8 == 0 ? 0 : inclusive[i - 1]);
    minima[i] = *std::min_element(&values[i / 8 * 8], &values[i / 8 * 8] + 8) * 0.5f;
  }
  require_equal(host_copy(a, count), exclusive);
  require_equal(host_copy(b, count), inclusive);
  require_equal(host_copy(least, count), minima);

  std::vector<int> many(4096), reversed(4096, -1);
  for (int &value : many) value = int(numbers.next());
  for (int part = 0; part < 16; part++) {
    int length = part % 4 == 3 ? 201 : 256;
    for (int k = 0; k < length; k++) reversed[part * 256 + k] = many[part * 256 + length - 1 - k];
  }
  int *in = device_copy(many), *out = device_copy(std::vector<int>(4096, -1));
  copies<<<4, threads, 1024 * sizeof(int)>>>(in, out, 4096);
  launched();
  require_equal(host_copy(out, 4096), reversed);
  for (int *memory : {d_labels, d_values, a, b, in, out}) CHECK(cudaFree(memory));
  CHECK(cudaFree(least));
  return ok("%d threads", count);
}
