// SPDX-License-Identifier: Apache-2.0
// Memory pools of the program's own: their limit, attributes and accounting, and as the device's pool.
#include "check.h"

__global__ void square(unsigned *values, unsigned count) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    values[i] = i * i;
  }
}

static uint64_t attribute(cudaMemPool_t pool, cudaMemPoolAttr name) {
  uint64_t value = ~0ull;
  CHECK(cudaMemPoolGetAttribute(pool, name, &value));
  return value;
}

static cudaMemPool_t make_pool(size_t max_bytes) {
  cudaMemPoolProps props = {};
  props.allocType = cudaMemAllocationTypePinned;
  props.location.type = cudaMemLocationTypeDevice;
  props.location.id = 0;
  props.maxSize = max_bytes;
  cudaMemPool_t pool;
  CHECK(cudaMemPoolCreate(&pool, &props));
  return pool;
}

static void attributes_and_accounting() {
  const unsigned count = 100000;
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  cudaMemPool_t pool = make_pool(0);
  int follow = 1;
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseFollowEventDependencies, &follow));
  REQUIRE(follow == 1, "a pool is born with reuse %d", follow);
  follow = 0;
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseFollowEventDependencies, &follow));
  follow = 7;
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseFollowEventDependencies, &follow));
  REQUIRE(follow == 0, "reuse is %d after it was set to 0", follow);
  uint64_t threshold = UINT64_MAX;
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  REQUIRE(attribute(pool, cudaMemPoolAttrReleaseThreshold) == threshold, "the threshold is lost");

  unsigned *values, *more;
  CHECK(cudaMallocFromPoolAsync(&values, count * sizeof(unsigned), pool, stream));
  CHECK(cudaMallocFromPoolAsync(&more, count * sizeof(unsigned), pool, stream));
  square<<<(count + 255) / 256, 256, 0, stream>>>(values, count);
  launched();
  CHECK(cudaStreamSynchronize(stream));
  uint64_t used = attribute(pool, cudaMemPoolAttrUsedMemCurrent);
  REQUIRE(used >= 2 * count * sizeof(unsigned), "%llu bytes are used",
      static_cast<unsigned long long>(used));
  REQUIRE(attribute(pool, cudaMemPoolAttrReservedMemCurrent) >= used, "less reserved than used");
  std::vector<unsigned> result = host_copy(values, count);
  for (unsigned i = 0; i < count; i++) {
    REQUIRE(result[i] == i * i, "element %u is %u", i, result[i]);
  }
  CHECK(cudaFreeAsync(more, stream));
  CHECK(cudaFreeAsync(values, stream));
  CHECK(cudaStreamSynchronize(stream));
  REQUIRE(attribute(pool, cudaMemPoolAttrUsedMemCurrent) == 0, "memory is used after its free");
  REQUIRE(attribute(pool, cudaMemPoolAttrUsedMemHigh) == used, "the high mark is not the most used");
  uint64_t zero = 0;
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero));
  REQUIRE(attribute(pool, cudaMemPoolAttrUsedMemHigh) == 0, "the high mark was not set back");
  CHECK(cudaMemPoolTrimTo(pool, 0));
  REQUIRE(attribute(pool, cudaMemPoolAttrReservedMemCurrent) == 0, "trimmed memory is reserved");
  CHECK(cudaMemPoolDestroy(pool));
  CHECK(cudaStreamDestroy(stream));
}

static void limit() {
  cudaMemPool_t pool = make_pool(64 << 20);
  char *fits, *beyond;
  CHECK(cudaMallocFromPoolAsync(&fits, 48 << 20, pool, 0));
  EXPECT(cudaErrorMemoryAllocation, cudaMallocFromPoolAsync(&beyond, 48 << 20, pool, 0));
  cudaGetLastError();
  CHECK(cudaMemset(fits, 1, 48 << 20));
  CHECK(cudaFreeAsync(fits, 0));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMallocFromPoolAsync(&beyond, 48 << 20, pool, 0));
  CHECK(cudaFreeAsync(beyond, 0));
  CHECK(cudaMemPoolDestroy(pool));
}

static void pool_of_the_device() {
  cudaMemPool_t first, now;
  CHECK(cudaDeviceGetDefaultMemPool(&first, 0));
  cudaMemPool_t pool = make_pool(0);
  CHECK(cudaDeviceSetMemPool(0, pool));
  CHECK(cudaDeviceGetMemPool(&now, 0));
  REQUIRE(now == pool, "the device has another pool than was set");
  int *values;
  CHECK(cudaMallocAsync(&values, 1 << 20, 0));
  REQUIRE(attribute(pool, cudaMemPoolAttrUsedMemCurrent) >= 1 << 20,
      "memory does not come from the device's pool");
  CHECK(cudaFreeAsync(values, 0));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemPoolDestroy(pool));
  CHECK(cudaDeviceGetMemPool(&now, 0));
  REQUIRE(now == first, "the destroyed pool is the device's still");
}

static void access() {
  cudaMemPool_t pool = make_pool(0);
  cudaMemLocation here = {};
  here.type = cudaMemLocationTypeDevice;
  here.id = 0;
  cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
  CHECK(cudaMemPoolGetAccess(&flags, pool, &here));
  REQUIRE(flags == cudaMemAccessFlagsProtReadWrite, "the pool's device has access %d", flags);
  cudaMemAccessDesc none = {};
  none.location = here;
  none.flags = cudaMemAccessFlagsProtNone;
  EXPECT(cudaErrorInvalidValue, cudaMemPoolSetAccess(pool, &none, 1));
  cudaGetLastError();
  CHECK(cudaMemPoolDestroy(pool));
}

int main() {
  attributes_and_accounting();
  limit();
  pool_of_the_device();
  access();
  return ok("attributes, limit, the device's pool, access");
}
