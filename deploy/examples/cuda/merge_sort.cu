// SPDX-License-Identifier: Apache-2.0
// Merge sort: tiles in shared memory, then merges in which each thread finds its part by bisection.
#include "check.h"

#include <algorithm>

const int tile = 512, threads = 128;

struct Entry {
  float key;
  int place;
};

__device__ bool before(const Entry &a, const Entry &b) { return a.key < b.key; }

// How many of the first `diagonal` entries of the merge of a and b come from a.
__device__ int split(const Entry *a, int a_count, const Entry *b, int b_count, int diagonal) {
  int low = max(0, diagonal - b_count), high = min(diagonal, a_count);
  while (low < high) {
    int middle = (low + high) / 2;
    if (before(b[diagonal - 1 - middle], a[middle])) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

__device__ void merge_part(const Entry *a, int a_count, const Entry *b, int b_count, Entry *out,
    int from, int to) {
  int i = split(a, a_count, b, b_count, from), j = from - i;
  for (int k = from; k < to; k++) {
    bool left = i < a_count && (j >= b_count || !before(b[j], a[i]));
    out[k] = left ? a[i++] : b[j++];
  }
}

__global__ void sort_tiles(Entry *entries, int count) {
  __shared__ Entry buffers[2][tile];
  int base = blockIdx.x * tile, length = min(tile, count - base);
  for (int i = threadIdx.x; i < length; i += threads) buffers[0][i] = entries[base + i];
  __syncthreads();
  int current = 0;
  for (int width = 1; width < tile; width *= 2, current ^= 1) {
    const int each = tile / threads;
    int from = threadIdx.x * each;
    for (int at = from; at < from + each && at < length;) {
      int start = at / (2 * width) * 2 * width, end = min(start + 2 * width, length);
      int a_count = min(width, length - start), b_count = max(0, end - start - width);
      int to = min(end, from + each);
      merge_part(buffers[current] + start, a_count, buffers[current] + start + a_count, b_count,
          buffers[current ^ 1] + start, at - start, to - start);
      at = to;
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < length; i += threads) entries[base + i] = buffers[current][i];
}

__global__ void merge(const Entry *in, Entry *out, int count, int width) {
  const int each = 16;
  int from = (blockIdx.x * threads + threadIdx.x) * each;
  if (from < count) {
    int start = from / (2 * width) * 2 * width, end = min(start + 2 * width, count);
    int a_count = min(width, count - start), b_count = max(0, end - start - width);
    merge_part(in + start, a_count, in + start + a_count, b_count, out + start, from - start,
        min(from + each, end) - start);
  }
}

int main() {
  const int count = 30007;
  Numbers numbers(32);
  std::vector<Entry> entries(count);
  for (int i = 0; i < count; i++) entries[i] = {float(numbers.next() % 5000) / 16, i};
  Entry *in = device_copy(entries), *out;
  CHECK(cudaMalloc(&out, count * sizeof(Entry)));
  sort_tiles<<<(count + tile - 1) / tile, threads>>>(in, count);
  for (int width = tile; width < count; width *= 2) {
    merge<<<(count + threads * 16 - 1) / (threads * 16), threads>>>(in, out, count, width);
    std::swap(in, out);
  }
  launched();
  std::stable_sort(entries.begin(), entries.end(),
      [](const Entry &a, const Entry &b) { return a.key < b.key; });
  std::vector<Entry> actual = host_copy(in, count);
  for (int i = 0; i < count; i++) {
    REQUIRE(actual[i].key == entries[i].key && actual[i].place == entries[i].place,
        "entry %d is %g of %d, not %g of %d", i, actual[i].key, actual[i].place, entries[i].key,
        entries[i].place);
  }
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
  return ok("%d entries", count);
}
