// SPDX-License-Identifier: Apache-2.0
// Barriers in shared memory with arrival apart from waiting, and copies that arrive at them or in a pipeline.
// nvcc: -gencode arch=compute_80,code=compute_80 -gencode arch=compute_90,code=compute_90 -diag-suppress 20054 -std=c++17
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>

#include "check.h"

namespace cg = cooperative_groups;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int kThreads = 128;
constexpr int kTile = 256;

// Each turn's values are read by others only after all have arrived.
__global__ void rotate(const int *in, int *out, int turns) {
  __shared__ block_barrier barrier;
  __shared__ int values[kThreads];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  int value = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int turn = 0; turn < turns; turn++) {
    values[threadIdx.x] = value;
    block_barrier::arrival_token token = barrier.arrive();
    int between = value & 1;
    barrier.wait(std::move(token));
    value = values[(threadIdx.x + 1) % blockDim.x] + between - (value & 1);
    barrier.arrive_and_wait();
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void copy_with_barrier(const int *in, long long *sums, int tiles) {
  __shared__ block_barrier barrier;
  __shared__ alignas(16) int tile[kTile];
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&barrier, block.size());
  block.sync();
  long long sum = 0;
  for (int i = blockIdx.x; i < tiles; i += gridDim.x) {
    cuda::memcpy_async(block, tile, in + i * kTile, cuda::aligned_size_t<16>(sizeof tile), barrier);
    barrier.arrive_and_wait();
    for (int j = threadIdx.x; j < kTile; j += blockDim.x) sum += tile[(j * 7 + 3) % kTile];
    block.sync();
  }
  atomicAdd(reinterpret_cast<unsigned long long *>(sums), static_cast<unsigned long long>(sum));
}

__global__ void copy_in_stages(const int *in, long long *sums, int tiles) {
  constexpr int stages = 2;
  __shared__ alignas(16) int tile[stages][kTile];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  auto block = cg::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  long long sum = 0;
  int fetched = 0;
  for (int i = 0; i < tiles; i++) {
    for (; fetched < tiles && fetched < i + stages; fetched++) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, tile[fetched % stages], in + fetched * kTile,
          cuda::aligned_size_t<16>(sizeof tile[0]), pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    for (int j = threadIdx.x; j < kTile; j += blockDim.x) sum += tile[i % stages][kTile - 1 - j];
    pipeline.consumer_release();
  }
  atomicAdd(reinterpret_cast<unsigned long long *>(sums), static_cast<unsigned long long>(sum));
}

__global__ void copy_with_group(const int *in, long long *sums, int tiles) {
  __shared__ alignas(16) int tile[kTile];
  auto block = cg::this_thread_block();
  long long sum = 0;
  for (int i = 0; i < tiles; i++) {
    cg::memcpy_async(block, tile, in + i * kTile, sizeof tile);
    cg::wait(block);
    for (int j = threadIdx.x; j < kTile; j += blockDim.x) sum += tile[j];
    block.sync();
  }
  atomicAdd(reinterpret_cast<unsigned long long *>(sums), static_cast<unsigned long long>(sum));
}

int main() {
  const int blocks = 4, count = blocks * kThreads, turns = 9, tiles = 12;
  Numbers numbers(8);
  std::vector<int> values(tiles * kTile), rotated(count);
  long long total = 0;
  for (int &value : values) {
    value = int(numbers.next() % 100000);
    total += value;
  }
  for (int i = 0; i < count; i++) {
    rotated[i] = values[i / kThreads * kThreads + (i % kThreads + turns) % kThreads];
  }
  int *in = device_copy(values), *out;
  long long *sums;
  CHECK(cudaMalloc(&out, count * sizeof(int)));
  CHECK(cudaMalloc(&sums, 3 * sizeof(long long)));
  CHECK(cudaMemset(sums, 0, 3 * sizeof(long long)));
  rotate<<<blocks, kThreads>>>(in, out, turns);
  launched();
  require_equal(host_copy(out, count), rotated);
  copy_with_barrier<<<blocks, kThreads>>>(in, sums, tiles);
  launched();
  copy_in_stages<<<1, kThreads>>>(in, sums + 1, tiles);
  launched();
  copy_with_group<<<1, kThreads>>>(in, sums + 2, tiles);
  launched();
  std::vector<long long> actual = host_copy(sums, 3);
  for (int i = 0; i < 3; i++) {
    REQUIRE(actual[i] == total, "sum %d is %lld, not %lld", i, actual[i], total);
  }
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
  CHECK(cudaFree(sums));
  return ok("%d turns, %d tiles", turns, tiles);
}
