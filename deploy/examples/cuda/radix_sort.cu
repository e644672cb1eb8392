// SPDX-License-Identifier: Apache-2.0
// Radix sort, four bits a pass, stable: keys with values, and floats by their bits.
#include "check.h"

#include <algorithm>
#include <numeric>

const int threads = 256, digits = 16;

// How often each digit occurs in each block: counts[digit][block], so that one scan orders all.
__global__ void count_digits(const uint32_t *keys, int count, int shift, int *counts) {
  __shared__ int bins[digits];
  if (threadIdx.x < digits) bins[threadIdx.x] = 0;
  __syncthreads();
  int i = blockIdx.x * threads + threadIdx.x;
  if (i < count) atomicAdd(&bins[keys[i] >> shift & (digits - 1)], 1);
  __syncthreads();
  if (threadIdx.x < digits) counts[threadIdx.x * gridDim.x + blockIdx.x] = bins[threadIdx.x];
}

// Exclusive sums of any length by one block, with a carry from round to round.
__global__ void scan_counts(int *counts, int length) {
  __shared__ int sums[threads];
  int carry = 0;
  for (int base = 0; base < length; base += threads) {
    int i = base + threadIdx.x;
    int own = i < length ? counts[i] : 0;
    sums[threadIdx.x] = own;
    __syncthreads();
    for (int distance = 1; distance < threads; distance *= 2) {
      int before = threadIdx.x >= distance ? sums[threadIdx.x - distance] : 0;
      __syncthreads();
      sums[threadIdx.x] += before;
      __syncthreads();
    }
    if (i < length) counts[i] = carry + sums[threadIdx.x] - own;
    carry += sums[threads - 1];
    __syncthreads();
  }
}

// The rank of a key among the equal digits of its block: those of earlier warps, and of lower lanes.
__global__ void scatter(const uint32_t *keys, const uint32_t *values, int count, int shift,
    const int *offsets, uint32_t *new_keys, uint32_t *new_values) {
  __shared__ int of_warp[threads / 32][digits];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (lane < digits) of_warp[warp][lane] = 0;
  __syncwarp();
  int i = blockIdx.x * threads + threadIdx.x;
  int digit = i < count ? int(keys[i] >> shift & (digits - 1)) : digits;
  unsigned same = __match_any_sync(0xffffffff, digit);
  int rank = __popc(same & ((1u << lane) - 1));
  if (digit < digits && rank == 0) of_warp[warp][digit] = __popc(same);
  __syncthreads();
  if (i < count) {
    for (int w = 0; w < warp; w++) rank += of_warp[w][digit];
    int to = offsets[digit * gridDim.x + blockIdx.x] + rank;
    new_keys[to] = keys[i];
    new_values[to] = values[i];
  }
}

__global__ void flip_floats(uint32_t *bits, int count, bool back) {
  int i = blockIdx.x * threads + threadIdx.x;
  if (i < count) {
    bool negative = bits[i] >> 31 != uint32_t(back);
    bits[i] ^= negative ? 0xffffffffu : 0x80000000u;
  }
}

static void sort(uint32_t *&keys, uint32_t *&values, int count) {
  int blocks = (count + threads - 1) / threads;
  uint32_t *other_keys, *other_values;
  int *counts;
  CHECK(cudaMalloc(&other_keys, count * sizeof(uint32_t)));
  CHECK(cudaMalloc(&other_values, count * sizeof(uint32_t)));
  CHECK(cudaMalloc(&counts, blocks * digits * sizeof(int)));
  for (int shift = 0; shift < 32; shift += 4) {
    count_digits<<<blocks, threads>>>(keys, count, shift, counts);
    scan_counts<<<1, threads>>>(counts, blocks * digits);
    scatter<<<blocks, threads>>>(keys, values, count, shift, counts, other_keys, other_values);
    std::swap(keys, other_keys);
    std::swap(values, other_values);
  }
  launched();
  CHECK(cudaFree(other_keys));
  CHECK(cudaFree(other_values));
  CHECK(cudaFree(counts));
}

int main() {
  const int count = 20011;
  Numbers numbers(31);
  std::vector<uint32_t> keys(count), order(count);
  for (uint32_t &key : keys) key = numbers.next() & (numbers.next() % 3 ? 0xffffffff : 0xff);
  std::iota(order.begin(), order.end(), 0u);
  uint32_t *device_keys = device_copy(keys), *device_values = device_copy(order);
  sort(device_keys, device_values, count);
  std::vector<uint32_t> expected = order;
  std::stable_sort(expected.begin(), expected.end(),
      [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
  require_equal(host_copy(device_values, count), expected);

  std::vector<float> floats(count);
  for (float &value : floats) value = (numbers.unit() - 0.5f) * std::exp(40 * numbers.unit() - 20);
  CHECK(cudaMemcpy(device_keys, floats.data(), count * sizeof(float), cudaMemcpyHostToDevice));
  int blocks = (count + threads - 1) / threads;
  flip_floats<<<blocks, threads>>>(device_keys, count, false);
  sort(device_keys, device_values, count);
  flip_floats<<<blocks, threads>>>(device_keys, count, true);
  launched();
  std::sort(floats.begin(), floats.end());
  require_equal(host_copy(reinterpret_cast<float *>(device_keys), count), floats);
  CHECK(cudaFree(device_keys));
  CHECK(cudaFree(device_values));
  return ok("%d keys", count);
}
