// SPDX-License-Identifier: Apache-2.0
// cudaMallocAsync and cudaFreeAsync in several streams, and what the default pool says of itself.
#include "check.h"

__global__ void fill(int *values, int count, int value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    values[i] = value + i;
  }
}

int main() {
  const int streams = 4, rounds = 50, count = 10000;
  int supported = 0;
  CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
  REQUIRE(supported, "the device has no memory pools");
  cudaMemPool_t pool;
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  uint64_t threshold = 1 << 20;
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  uint64_t read = 0;
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &read));
  REQUIRE(read == threshold, "the release threshold is %llu", static_cast<unsigned long long>(read));

  cudaStream_t stream[streams];
  int *result[streams];
  for (int s = 0; s < streams; s++) {
    CHECK(cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking));
    CHECK(cudaMallocHost(&result[s], rounds * sizeof(int)));
  }
  for (int round = 0; round < rounds; round++) {
    for (int s = 0; s < streams; s++) {
      int *values;
      CHECK(cudaMallocAsync(&values, count * sizeof(int), stream[s]));
      fill<<<(count + 255) / 256, 256, 0, stream[s]>>>(values, count, round * 100 + s);
      launched();
      CHECK(cudaMemcpyAsync(result[s] + round, values + count - 1, sizeof(int),
          cudaMemcpyDeviceToHost, stream[s]));
      CHECK(cudaFreeAsync(values, stream[s]));
    }
  }
  for (int s = 0; s < streams; s++) {
    CHECK(cudaStreamSynchronize(stream[s]));
    for (int round = 0; round < rounds; round++) {
      int expected = round * 100 + s + count - 1;
      REQUIRE(result[s][round] == expected, "stream %d, round %d gives %d, not %d", s, round,
          result[s][round], expected);
    }
    CHECK(cudaFreeHost(result[s]));
  }
  uint64_t used = 1;
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  REQUIRE(used == 0, "%llu bytes are still in use", static_cast<unsigned long long>(used));
  CHECK(cudaMemPoolTrimTo(pool, 0));

  // Memory from the pool is memory like any other: freed with cudaFree, used by another stream.
  int *shared;
  CHECK(cudaMallocAsync(&shared, count * sizeof(int), stream[0]));
  CHECK(cudaStreamSynchronize(stream[0]));
  fill<<<(count + 255) / 256, 256, 0, stream[1]>>>(shared, count, 5);
  CHECK(cudaStreamSynchronize(stream[1]));
  REQUIRE(host_copy(shared, count)[9] == 14, "memory of the pool holds another value");
  CHECK(cudaFree(shared));
  for (cudaStream_t s : stream) {
    CHECK(cudaStreamDestroy(s));
  }
  return ok("%d allocations in %d streams", streams * rounds, streams);
}
