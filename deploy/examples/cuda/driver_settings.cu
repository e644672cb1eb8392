// SPDX-License-Identifier: Apache-2.0
// Calls of the driver API that most programs never make: clusters, core dumps, notices, peers' atomics.
#include "driver_entry.h"

__global__ void twice(float *values) { values[threadIdx.x] *= 2; }

static void test_clusters() {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(16);
  config.blockDim = dim3(128);
  int launches, size, clusters, blocks;
  CHECK(cudaDeviceGetAttribute(&launches, cudaDevAttrClusterLaunch, 0));
  CHECK(cudaOccupancyMaxPotentialClusterSize(&size, twice, &config));
  CHECK(cudaOccupancyMaxActiveClusters(&clusters, twice, &config));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, twice, 128, 0));
  int multiprocessors;
  CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  REQUIRE(launches || size == 1, "clusters of %d blocks without clusters", size);
  REQUIRE(launches || clusters == blocks * multiprocessors, "%d clusters of one block", clusters);
  REQUIRE(size >= 1 && clusters >= 1, "%d clusters of %d blocks", clusters, size);
}

static void test_core_dumps() {
  auto *get = ENTRY(cuCoredumpGetAttributeGlobal);
  auto *set = ENTRY(cuCoredumpSetAttributeGlobal);
  auto *getHere = ENTRY(cuCoredumpGetAttribute);
  bool enabled = true;
  size_t bytes = 0;
  DRIVER(get(CU_COREDUMP_ENABLE_ON_EXCEPTION, nullptr, &bytes));
  REQUIRE(bytes == sizeof enabled, "%zu bytes", bytes);
  DRIVER(getHere(CU_COREDUMP_ENABLE_ON_EXCEPTION, &enabled, &bytes));
  REQUIRE(!enabled, "core dumps are on");
  char name[64] = "dumps.%p";
  bytes = sizeof name;
  DRIVER(set(CU_COREDUMP_FILE, name, &bytes));
  char again[1024] = "";
  bytes = sizeof again;
  DRIVER(get(CU_COREDUMP_FILE, again, &bytes));
  REQUIRE(strcmp(name, again) == 0, "the file is %s", again);
  REFUSED(CUDA_ERROR_INVALID_VALUE, get(CU_COREDUMP_MAX, again, &bytes));
}

static void test_notices() {
  auto *add = ENTRY(cuDeviceRegisterAsyncNotification);
  auto *remove = ENTRY(cuDeviceUnregisterAsyncNotification);
  CUasyncCallbackHandle handle;
  DRIVER(add(0, [](CUasyncNotificationInfo *, void *, CUasyncCallbackHandle) {}, nullptr, &handle));
  DRIVER(remove(0, handle));
}

static void test_peers() {
  auto *ask = ENTRY(cuDeviceGetP2PAtomicCapabilities);
  int devices, native;
  unsigned capability;
  CUatomicOperation add = CU_ATOMIC_OPERATION_INTEGER_ADD;
  CHECK(cudaGetDeviceCount(&devices));
  if (devices < 2) {
    REFUSED(CUDA_ERROR_INVALID_VALUE, ask(&capability, &add, 1, 0, 0));
    return;
  }
  CHECK(cudaDeviceGetP2PAttribute(&native, cudaDevP2PAttrNativeAtomicSupported, 0, 1));
  DRIVER(ask(&capability, &add, 1, 0, 1));
  REQUIRE((capability != 0) == (native != 0), "atomics 0x%x, native %d", capability, native);
}

// Attributes do not announce features that are not supported.
static void test_attributes() {
  cudaDeviceAttr none[] = {cudaDevAttrHostNativeAtomicSupported, cudaDevAttrPageableMemoryAccess,
      cudaDevAttrConcurrentManagedAccess, cudaDevAttrTimelineSemaphoreInteropSupported,
      cudaDevAttrSparseCudaArraySupported};
  for (cudaDeviceAttr attribute : none) {
    int value;
    CHECK(cudaDeviceGetAttribute(&value, attribute, 0));
    REQUIRE(value == 0, "attribute %d is %d", attribute, value);
  }
  cudaDeviceAttr all[] = {cudaDevAttrCooperativeLaunch, cudaDevAttrManagedMemory,
      cudaDevAttrMemoryPoolsSupported, cudaDevAttrUnifiedAddressing, cudaDevAttrCanMapHostMemory};
  for (cudaDeviceAttr attribute : all) {
    int value;
    CHECK(cudaDeviceGetAttribute(&value, attribute, 0));
    REQUIRE(value == 1, "attribute %d is %d", attribute, value);
  }
}

int main() {
  CHECK(cudaFree(nullptr));
  test_clusters();
  test_core_dumps();
  test_notices();
  test_peers();
  test_attributes();
  return ok("clusters, core dumps, notices, peers and attributes");
}
