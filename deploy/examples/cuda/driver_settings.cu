// SPDX-License-Identifier: Apache-2.0
// Calls of the driver API that most programs never make: clusters, core dumps, notices, peers' atomics.
#include <cuda.h>

#include "check.h"

__global__ void twice(float *values) { values[threadIdx.x] *= 2; }

static void drive(CUresult expected, CUresult result, const char *what) {
  REQUIRE(result == expected, "%s is %d, not %d", what, result, expected);
}

#define DRIVE(expected, call) drive((expected), (call), #call)

// The entry point of a name, so that no libcuda is linked.
template <typename Function>
static Function *entry(const char *name) {
  void *found = nullptr;
  cudaDriverEntryPointQueryResult result;
  CHECK(cudaGetDriverEntryPointByVersion(name, &found, CUDART_VERSION, cudaEnableDefault, &result));
  REQUIRE(found && result == cudaDriverEntryPointSuccess, "there is no %s", name);
  return reinterpret_cast<Function *>(found);
}

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
  auto *get = entry<decltype(cuCoredumpGetAttributeGlobal)>("cuCoredumpGetAttributeGlobal");
  auto *set = entry<decltype(cuCoredumpSetAttributeGlobal)>("cuCoredumpSetAttributeGlobal");
  auto *getHere = entry<decltype(cuCoredumpGetAttribute)>("cuCoredumpGetAttribute");
  bool enabled = true;
  size_t bytes = 0;
  DRIVE(CUDA_SUCCESS, get(CU_COREDUMP_ENABLE_ON_EXCEPTION, nullptr, &bytes));
  REQUIRE(bytes == sizeof enabled, "%zu bytes", bytes);
  DRIVE(CUDA_SUCCESS, getHere(CU_COREDUMP_ENABLE_ON_EXCEPTION, &enabled, &bytes));
  REQUIRE(!enabled, "core dumps are on");
  char name[64] = "dumps.%p";
  bytes = sizeof name;
  DRIVE(CUDA_SUCCESS, set(CU_COREDUMP_FILE, name, &bytes));
  char again[1024] = "";
  bytes = sizeof again;
  DRIVE(CUDA_SUCCESS, get(CU_COREDUMP_FILE, again, &bytes));
  REQUIRE(strcmp(name, again) == 0, "the file is %s", again);
  DRIVE(CUDA_ERROR_INVALID_VALUE, get(CU_COREDUMP_MAX, again, &bytes));
}

static void test_notices() {
  auto *add = entry<decltype(cuDeviceRegisterAsyncNotification)>("cuDeviceRegisterAsyncNotification");
  auto *remove =
      entry<decltype(cuDeviceUnregisterAsyncNotification)>("cuDeviceUnregisterAsyncNotification");
  CUasyncCallbackHandle handle;
  DRIVE(CUDA_SUCCESS,
      add(0, [](CUasyncNotificationInfo *, void *, CUasyncCallbackHandle) {}, nullptr, &handle));
  DRIVE(CUDA_SUCCESS, remove(0, handle));
}

static void test_peers() {
  auto *ask = entry<decltype(cuDeviceGetP2PAtomicCapabilities)>("cuDeviceGetP2PAtomicCapabilities");
  int devices, native;
  unsigned capability;
  CUatomicOperation add = CU_ATOMIC_OPERATION_INTEGER_ADD;
  CHECK(cudaGetDeviceCount(&devices));
  if (devices < 2) {
    DRIVE(CUDA_ERROR_INVALID_VALUE, ask(&capability, &add, 1, 0, 0));
    return;
  }
  CHECK(cudaDeviceGetP2PAttribute(&native, cudaDevP2PAttrNativeAtomicSupported, 0, 1));
  DRIVE(CUDA_SUCCESS, ask(&capability, &add, 1, 0, 1));
  REQUIRE((capability != 0) == (native != 0), "atomics 0x%x, native %d", capability, native);
}

// What is not offered is not announced either.
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
