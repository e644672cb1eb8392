// SPDX-License-Identifier: Apache-2.0
// Barriers by number for a part of a block: producers that only arrive, consumers that wait, and counts.
#include "check.h"

__global__ void hand_over(const int *in, int *out, int turns) {
  // Barrier 1: a value is there; barrier 2: it was taken.
  __shared__ int box[64];
  int lane = threadIdx.x % 64;
  bool producer = threadIdx.x < 64;
  for (int turn = 0; turn < turns; turn++) {
    if (producer) {
      if (turn > 0) asm volatile("bar.sync 2, 128;" ::: "memory");
      box[lane] = in[turn * 64 + lane];
      asm volatile("bar.arrive 1, 128;" ::: "memory");
    } else {
      asm volatile("bar.sync 1, 128;" ::: "memory");
      out[turn * 64 + lane] = box[63 - lane];
      if (turn + 1 < turns) asm volatile("bar.arrive 2, 128;" ::: "memory");
    }
  }
}

__global__ void halves(int *out) {
  // Each half of the block has a barrier of its own, and takes its own number of turns.
  __shared__ volatile int values[128];
  int half = threadIdx.x / 64, lane = threadIdx.x % 64, turns = half ? 5 : 11;
  int value = lane;
  for (int turn = 0; turn < turns; turn++) {
    values[threadIdx.x] = value;
    asm volatile("barrier.sync %0, 64;" ::"r"(half + 3) : "memory");
    value = values[half * 64 + (lane + 1) % 64] + 1;
    asm volatile("barrier.sync %0, 64;" ::"r"(half + 3) : "memory");
  }
  out[threadIdx.x] = value;
}

__global__ void counts(int *out) {
  int odd = __syncthreads_count(threadIdx.x % 3 == 0);
  int all = __syncthreads_and(threadIdx.x < 128);
  int some = __syncthreads_or(threadIdx.x == 77);
  int none = __syncthreads_or(threadIdx.x == 777);
  out[threadIdx.x] = odd * 8 + (all != 0) * 4 + (some != 0) * 2 + (none != 0);
}

int main() {
  const int turns = 20;
  std::vector<int> in(turns * 64), taken(turns * 64), turned(128), counted(128, 43 * 8 + 6);
  for (int i = 0; i < turns * 64; i++) in[i] = i * 31 + 7;
  for (int i = 0; i < turns * 64; i++) taken[i] = in[i / 64 * 64 + 63 - i % 64];
  for (int i = 0; i < 128; i++) {
    int n = i < 64 ? 11 : 5;
    turned[i] = (i % 64 + n) % 64 + n;
  }
  int *device = device_copy(in), *out;
  CHECK(cudaMalloc(&out, turns * 64 * sizeof(int)));
  hand_over<<<1, 128>>>(device, out, turns);
  launched();
  require_equal(host_copy(out, turns * 64), taken);
  halves<<<1, 128>>>(out);
  launched();
  require_equal(host_copy(out, 128), turned);
  counts<<<1, 128>>>(out);
  launched();
  require_equal(host_copy(out, 128), counted);
  CHECK(cudaFree(device));
  CHECK(cudaFree(out));
  return ok("%d turns", turns);
}
