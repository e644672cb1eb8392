// SPDX-License-Identifier: Apache-2.0
// Virtual memory and memory pools in a program that has no context yet; a kernel then uses what was made.
#include "driver_entry.h"

__global__ void number(unsigned *values, size_t count) {
  size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i < count) {
    values[i] = static_cast<unsigned>(i * 3);
  }
}

int main() {
  DRIVER(ENTRY(cuInit)(0));
  CUcontext none;
  DRIVER(ENTRY(cuCtxGetCurrent)(&none));
  REQUIRE(!none, "there is a context already");

  CUmemAllocationProp prop = {};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  size_t step;
  DRIVER(ENTRY(cuMemGetAllocationGranularity)(&step, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CUmemGenericAllocationHandle block;
  CUdeviceptr base;
  DRIVER(ENTRY(cuMemCreate)(&block, step, &prop, 0));
  int descriptor = -1;
  DRIVER(ENTRY(cuMemExportToShareableHandle)(&descriptor, block, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  DRIVER(ENTRY(cuMemAddressReserve)(&base, step, 0, 0, 0));
  DRIVER(ENTRY(cuMemMap)(base, step, 0, block, 0));
  CUmemAccessDesc access = {};
  access.location = prop.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  DRIVER(ENTRY(cuMemSetAccess)(base, step, &access, 1));
  CUmemPoolProps pool_prop = {};
  pool_prop.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  pool_prop.location = prop.location;
  CUmemoryPool pool;
  DRIVER(ENTRY(cuMemPoolCreate)(&pool, &pool_prop));
  DRIVER(ENTRY(cuCtxGetCurrent)(&none));
  REQUIRE(!none, "something has made a context");

  size_t count = step / sizeof(unsigned);
  unsigned *values = reinterpret_cast<unsigned *>(base), *pooled;
  number<<<(count + 255) / 256, 256>>>(values, count);
  launched();
  CHECK(cudaMallocFromPoolAsync(&pooled, step, reinterpret_cast<cudaMemPool_t>(pool), nullptr));
  CHECK(cudaMemcpyAsync(pooled, values, step, cudaMemcpyDeviceToDevice, nullptr));
  std::vector<unsigned> got = host_copy(pooled, count);
  for (size_t i = 0; i < count; i++) {
    REQUIRE(got[i] == i * 3, "element %zu is %u", i, got[i]);
  }
  CHECK(cudaFreeAsync(pooled, nullptr));
  CHECK(cudaDeviceSynchronize());
  DRIVER(ENTRY(cuMemPoolDestroy)(pool));
  DRIVER(ENTRY(cuMemUnmap)(base, step));
  DRIVER(ENTRY(cuMemRelease)(block));
  DRIVER(ENTRY(cuMemAddressFree)(base, step));
  return ok("a mapped block of %zu KiB and a pool, made without a context", step >> 10);
}
