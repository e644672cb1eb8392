// SPDX-License-Identifier: Apache-2.0
// Bitonic sort of keys with their values: many small launches, the short distances in shared memory.
#include <algorithm>
#include <numeric>

#include "check.h"

constexpr int BLOCK = 512;

__device__ inline void order(unsigned &a, unsigned &b, unsigned &va, unsigned &vb, bool up) {
  if ((a > b) == up) {
    unsigned t = a;
    a = b;
    b = t;
    t = va;
    va = vb;
    vb = t;
  }
}

__global__ void merge_far(unsigned *keys, unsigned *values, int distance, int size) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int low = 2 * distance * (i / distance) + i % distance;
  order(keys[low], keys[low + distance], values[low], values[low + distance], (low & size) == 0);
}

__global__ void merge_near(unsigned *keys, unsigned *values, int first_size, int last_size) {
  __shared__ unsigned k[2 * BLOCK];
  __shared__ unsigned v[2 * BLOCK];
  int base = blockIdx.x * 2 * BLOCK;
  for (int i = threadIdx.x; i < 2 * BLOCK; i += BLOCK) {
    k[i] = keys[base + i];
    v[i] = values[base + i];
  }
  __syncthreads();
  for (int size = first_size; size <= last_size; size *= 2) {
    for (int distance = min(size / 2, BLOCK); distance > 0; distance /= 2) {
      int i = threadIdx.x;
      int low = 2 * distance * (i / distance) + i % distance;
      order(k[low], k[low + distance], v[low], v[low + distance], ((base + low) & size) == 0);
      __syncthreads();
    }
  }
  for (int i = threadIdx.x; i < 2 * BLOCK; i += BLOCK) {
    keys[base + i] = k[i];
    values[base + i] = v[i];
  }
}

int main() {
  const int count = 1 << 15;
  Numbers numbers(9);
  std::vector<unsigned> keys(count), values(count);
  for (unsigned &key : keys) {
    key = numbers.next();
  }
  std::iota(values.begin(), values.end(), 0u);
  unsigned *device_keys = device_copy(keys);
  unsigned *device_values = device_copy(values);
  merge_near<<<count / (2 * BLOCK), BLOCK>>>(device_keys, device_values, 2, 2 * BLOCK);
  int launches = 1;
  for (int size = 4 * BLOCK; size <= count; size *= 2) {
    for (int distance = size / 2; distance > BLOCK; distance /= 2, launches++) {
      merge_far<<<count / 2 / 256, 256>>>(device_keys, device_values, distance, size);
    }
    merge_near<<<count / (2 * BLOCK), BLOCK>>>(device_keys, device_values, size, size);
    launches++;
  }
  launched();
  std::vector<unsigned> sorted = host_copy(device_keys, count);
  std::vector<unsigned> places = host_copy(device_values, count);
  for (int i = 0; i < count; i++) {
    REQUIRE(places[i] < unsigned(count) && keys[places[i]] == sorted[i],
        "value %d does not belong to its key", i);
  }
  std::sort(keys.begin(), keys.end());
  require_equal(sorted, keys);
  CHECK(cudaFree(device_keys));
  CHECK(cudaFree(device_values));
  return ok("%d keys in %d launches", count, launches);
}
