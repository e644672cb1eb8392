// SPDX-License-Identifier: Apache-2.0
// A hash table without locks: many threads insert, look up and delete at the same time, by compare and swap.
#include "check.h"

#include <map>

const unsigned slots = 1 << 14, empty = 0xffffffff, gone = 0xfffffffe;

// Key above value in one word of 64 bits, so that both change together.
__device__ unsigned long long entry(unsigned key, unsigned value) {
  return static_cast<unsigned long long>(key) << 32 | value;
}

__device__ unsigned slot_of(unsigned key) { return key * 2654435761u >> 18; }

// Adds to the value of a key, which is inserted if it is not there.
__device__ void add(unsigned long long *table, unsigned key, unsigned value) {
  unsigned slot = slot_of(key);
  while (true) {
    unsigned long long there = atomicCAS(&table[slot], entry(empty, 0), entry(key, value));
    while (unsigned(there >> 32) == key) {
      unsigned long long now = atomicCAS(&table[slot], there, entry(key, unsigned(there) + value));
      if (now == there) return;
      there = now;
    }
    if (there == entry(empty, 0)) return;
    slot = (slot + 1) % slots;
  }
}

__device__ unsigned long long *find(unsigned long long *table, unsigned key) {
  for (unsigned slot = slot_of(key);; slot = (slot + 1) % slots) {
    unsigned there = unsigned(*reinterpret_cast<volatile unsigned long long *>(&table[slot]) >> 32);
    if (there == key) return &table[slot];
    if (there == empty) return nullptr;
  }
}

__global__ void insert_all(unsigned long long *table, const unsigned *keys, int count) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    add(table, keys[i], i % 7 + 1);
  }
}

// Deletes the odd keys while it looks up the even ones.
__global__ void delete_odd(unsigned long long *table, const unsigned *keys, int count, int *missing) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    unsigned long long *place = find(table, keys[i]);
    if (keys[i] % 2 == 0) {
      if (place == nullptr) atomicAdd(missing, 1);
    } else if (place != nullptr) {
      atomicExch(place, entry(gone, 0));
    }
  }
}

__global__ void look_up(unsigned long long *table, const unsigned *keys, int count, unsigned *values) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    unsigned long long *place = find(table, keys[i]);
    values[i] = place == nullptr ? 0 : unsigned(*place);
  }
}

int main() {
  const int count = 30000;
  Numbers numbers(46);
  std::vector<unsigned> keys(count), expected(count);
  std::map<unsigned, unsigned> sums;
  for (int i = 0; i < count; i++) {
    keys[i] = numbers.next() % 9000 * (numbers.next() % 3 + 1);
    sums[keys[i]] += i % 7 + 1;
  }
  auto *table = device_copy(std::vector<unsigned long long>(slots, ~0u * 0x100000000ull));
  unsigned *d_keys = device_copy(keys), *values;
  int *missing = device_copy(std::vector<int>{0}), blocks = (count + 127) / 128;
  CHECK(cudaMalloc(&values, count * sizeof(unsigned)));
  insert_all<<<12, 128>>>(table, d_keys, count);
  look_up<<<blocks, 128>>>(table, d_keys, count, values);
  launched();
  for (int i = 0; i < count; i++) expected[i] = sums[keys[i]];
  require_equal(host_copy(values, count), expected);
  delete_odd<<<12, 128>>>(table, d_keys, count, missing);
  look_up<<<blocks, 128>>>(table, d_keys, count, values);
  launched();
  REQUIRE(host_copy(missing, 1)[0] == 0, "%d keys were not found", host_copy(missing, 1)[0]);
  for (int i = 0; i < count; i++) expected[i] = keys[i] % 2 == 0 ? sums[keys[i]] : 0;
  require_equal(host_copy(values, count), expected);
  CHECK(cudaFree(table));
  CHECK(cudaFree(d_keys));
  CHECK(cudaFree(values));
  CHECK(cudaFree(missing));
  return ok("%zu different keys", sums.size());
}
