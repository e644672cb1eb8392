// SPDX-License-Identifier: Apache-2.0
// Stream compaction: what passes a test comes first, in its order; and by it the element of any rank.
#include "check.h"

#include <algorithm>

const int threads = 256;

struct Below {
  int pivot;
  __host__ __device__ bool operator()(int value) const { return value < pivot; }
};

template <typename Test>
__global__ void count_passing(const int *values, int count, Test test, int *of_block) {
  int i = blockIdx.x * threads + threadIdx.x;
  int passing = __syncthreads_count(i < count && test(values[i]));
  if (threadIdx.x == 0) of_block[blockIdx.x] = passing;
}

__global__ void scan_blocks(int *of_block, int blocks, int *total) {
  // One warp, each lane a run of blocks.
  int each = (blocks + 31) / 32, from = threadIdx.x * each, to = min(from + each, blocks);
  int sum = 0;
  for (int i = from; i < to; i++) sum += of_block[i];
  int inclusive = sum;
  for (int distance = 1; distance < 32; distance *= 2) {
    int other = __shfl_up_sync(0xffffffff, inclusive, distance);
    if (threadIdx.x >= distance) inclusive += other;
  }
  int before = inclusive - sum;
  for (int i = from; i < to; i++) {
    int own = of_block[i];
    of_block[i] = before;
    before += own;
  }
  if (threadIdx.x == 31) *total = inclusive;
}

template <typename Test>
__global__ void scatter(
    const int *values, int count, Test test, const int *of_block, const int *total, int *out) {
  __shared__ int of_warp[threads / 32];
  int i = blockIdx.x * threads + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  bool passes = i < count && test(values[i]);
  unsigned mask = __ballot_sync(0xffffffff, passes);
  if (lane == 0) of_warp[warp] = __popc(mask);
  __syncthreads();
  int rank = of_block[blockIdx.x] + __popc(mask & ((1u << lane) - 1));
  for (int w = 0; w < warp; w++) rank += of_warp[w];
  if (i < count) out[passes ? rank : *total + i - rank] = values[i];
}

// Returns how many pass.
template <typename Test>
static int partition(const int *in, int *out, int count, Test test) {
  int blocks = (count + threads - 1) / threads, *of_block, total;
  CHECK(cudaMalloc(&of_block, (blocks + 1) * sizeof(int)));
  count_passing<<<blocks, threads>>>(in, count, test, of_block);
  scan_blocks<<<1, 32>>>(of_block, blocks, of_block + blocks);
  scatter<<<blocks, threads>>>(in, count, test, of_block, of_block + blocks, out);
  CHECK(cudaMemcpy(&total, of_block + blocks, sizeof total, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(of_block));
  return total;
}

// The element that would stand at `rank` if all were sorted.
static int select(const int *values, int count, int rank) {
  int *from, *to;
  CHECK(cudaMalloc(&from, count * sizeof(int)));
  CHECK(cudaMalloc(&to, count * sizeof(int)));
  CHECK(cudaMemcpy(from, values, count * sizeof(int), cudaMemcpyDeviceToDevice));
  int low = 0, high = 1 << 20;
  while (low + 1 < high) {
    int pivot = low + (high - low) / 2;
    int below = partition(from, to, count, Below{pivot});
    bool left = rank < below;
    (left ? high : low) = pivot;
    CHECK(cudaMemcpy(from, to + (left ? 0 : below), (left ? below : count - below) * sizeof(int),
        cudaMemcpyDeviceToDevice));
    rank -= left ? 0 : below;
    count = left ? below : count - below;
  }
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
  return low;
}

int main() {
  const int count = 50021;
  Numbers numbers(33);
  std::vector<int> values(count);
  for (int &value : values) value = int(numbers.next() % (1 << 20));
  int *device = device_copy(values), *out;
  CHECK(cudaMalloc(&out, count * sizeof(int)));
  for (int pivot : {0, 1 << 10, 1 << 19, 1 << 20}) {
    std::vector<int> expected = values;
    auto middle = std::stable_partition(expected.begin(), expected.end(), Below{pivot});
    int passing = partition(device, out, count, Below{pivot});
    REQUIRE(passing == middle - expected.begin(), "%d are below %d", passing, pivot);
    require_equal(host_copy(out, count), expected);
  }
  std::vector<int> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  for (int rank : {0, count / 2, count - 1}) {
    int found = select(device, count, rank);
    REQUIRE(found == sorted[rank], "rank %d is %d, not %d", rank, found, sorted[rank]);
  }
  CHECK(cudaFree(device));
  CHECK(cudaFree(out));
  return ok("%d elements", count);
}
