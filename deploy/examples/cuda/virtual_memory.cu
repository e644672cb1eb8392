// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: a buffer that grows in place, blocks mapped twice and elsewhere, access that
// is not given or taken back.
#include "driver_entry.h"

__global__ void number(unsigned *values, size_t count, unsigned first) {
  size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i < count) {
    values[i] = first + i;
  }
}

static size_t step;
static CUmemAllocationProp prop;
static CUmemAccessDesc access_all;

static void allow(CUdeviceptr address, size_t bytes, CUmemAccess_flags flags) {
  CUmemAccessDesc description = access_all;
  description.flags = flags;
  DRIVER(ENTRY(cuMemSetAccess)(address, bytes, &description, 1));
}

static void growing_buffer() {
  const size_t most = 16;
  CUdeviceptr base;
  DRIVER(ENTRY(cuMemAddressReserve)(&base, most * step, 0, 0, 0));
  std::vector<CUmemGenericAllocationHandle> blocks;
  unsigned *values = reinterpret_cast<unsigned *>(base);
  const size_t per_block = step / sizeof(unsigned);
  size_t before, after, total;
  CHECK(cudaMemGetInfo(&before, &total));
  for (size_t n = 1; n <= 5; n++) {
    CUmemGenericAllocationHandle block;
    DRIVER(ENTRY(cuMemCreate)(&block, step, &prop, 0));
    DRIVER(ENTRY(cuMemMap)(base + (n - 1) * step, step, 0, block, 0));
    allow(base + (n - 1) * step, step, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    blocks.push_back(block);
    number<<<(n * per_block + 255) / 256, 256>>>(values, n * per_block, n);
    launched();
    // Copies go across the blocks.
    std::vector<unsigned> all = host_copy(values, n * per_block);
    for (size_t i = 0; i < all.size(); i++) {
      REQUIRE(all[i] == n + i, "with %zu blocks element %zu is %u", n, i, all[i]);
    }
  }
  CHECK(cudaMemGetInfo(&after, &total));
  REQUIRE(before - after == 5 * step, "5 blocks take %zu bytes", before - after);
  unsigned long long flags = 0;
  CUmemLocation here = prop.location;
  DRIVER(ENTRY(cuMemGetAccess)(&flags, &here, base + step + 5));
  REQUIRE(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE, "access is %llu", flags);

  // Handles may go first; the mapping keeps the block, and gives its handle back.
  for (CUmemGenericAllocationHandle block : blocks) {
    DRIVER(ENTRY(cuMemRelease)(block));
  }
  CUmemGenericAllocationHandle again;
  CUmemAllocationProp told;
  DRIVER(ENTRY(cuMemRetainAllocationHandle)(&again, values + per_block + 7));
  DRIVER(ENTRY(cuMemGetAllocationPropertiesFromHandle)(&told, again));
  REQUIRE(told.type == CU_MEM_ALLOCATION_TYPE_PINNED && told.location.id == 0, "other properties");
  REFUSED(CUDA_ERROR_INVALID_VALUE, ENTRY(cuMemUnmap)(base, step / 2));
  DRIVER(ENTRY(cuMemUnmap)(base, 5 * step));
  CHECK(cudaMemGetInfo(&after, &total));
  REQUIRE(before - after == step, "one retained block takes %zu bytes", before - after);

  // Its contents are where it is mapped next.
  DRIVER(ENTRY(cuMemMap)(base + 8 * step, step, 0, again, 0));
  allow(base + 8 * step, step, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  REQUIRE(host_copy(values + 8 * per_block, 1)[0] == 5 + per_block, "the block lost its contents");
  DRIVER(ENTRY(cuMemUnmap)(base + 8 * step, step));
  DRIVER(ENTRY(cuMemRelease)(again));
  REFUSED(CUDA_ERROR_INVALID_VALUE, ENTRY(cuMemRelease)(again));
  DRIVER(ENTRY(cuMemAddressFree)(base, most * step));
  CHECK(cudaMemGetInfo(&after, &total));
  REQUIRE(before == after, "%zu bytes are lost", before - after);
}

// One block at two addresses is one memory.
static void aliases() {
  CUdeviceptr base;
  CUmemGenericAllocationHandle block;
  DRIVER(ENTRY(cuMemAddressReserve)(&base, 4 * step, 0, 0, 0));
  DRIVER(ENTRY(cuMemCreate)(&block, 2 * step, &prop, 0));
  DRIVER(ENTRY(cuMemMap)(base, 2 * step, 0, block, 0));
  DRIVER(ENTRY(cuMemMap)(base + 2 * step, 2 * step, 0, block, 0));
  allow(base, 4 * step, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  const size_t count = 2 * step / sizeof(unsigned);
  unsigned *one = reinterpret_cast<unsigned *>(base), *other = one + count;
  number<<<(count + 255) / 256, 256>>>(one, count, 3);
  launched();
  CHECK(cudaDeviceSynchronize());
  std::vector<unsigned> seen = host_copy(other, count);
  REQUIRE(seen[0] == 3 && seen[count - 1] == count + 2, "the other address shows %u", seen[0]);
  DRIVER(ENTRY(cuMemUnmap)(base, 4 * step));
  DRIVER(ENTRY(cuMemRelease)(block));
  DRIVER(ENTRY(cuMemAddressFree)(base, 4 * step));
}

static void refusals() {
  CUdeviceptr base;
  CUmemGenericAllocationHandle block;
  REFUSED(CUDA_ERROR_INVALID_VALUE, ENTRY(cuMemCreate)(&block, step + 1, &prop, 0));
  REFUSED(CUDA_ERROR_OUT_OF_MEMORY, ENTRY(cuMemCreate)(&block, step << 20, &prop, 0));
  DRIVER(ENTRY(cuMemAddressReserve)(&base, step, 0, 0, 0));
  DRIVER(ENTRY(cuMemCreate)(&block, step, &prop, 0));
  REFUSED(CUDA_ERROR_INVALID_VALUE, ENTRY(cuMemMap)(base, 2 * step, 0, block, 0));
  REFUSED(CUDA_ERROR_INVALID_VALUE, ENTRY(cuMemSetAccess)(base, step, &access_all, 1));
  DRIVER(ENTRY(cuMemMap)(base, step, 0, block, 0));
  REFUSED(CUDA_ERROR_INVALID_VALUE, ENTRY(cuMemMap)(base, step, 0, block, 0));
  REFUSED(CUDA_ERROR_INVALID_VALUE, ENTRY(cuMemAddressFree)(base, step));
  int file = -1;
  // It was not made for that.
  REFUSED(CUDA_ERROR_INVALID_VALUE,
      ENTRY(cuMemExportToShareableHandle)(&file, block, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  DRIVER(ENTRY(cuMemUnmap)(base, step));
  DRIVER(ENTRY(cuMemRelease)(block));
  DRIVER(ENTRY(cuMemAddressFree)(base, step));
}

// The last thing that this program does, for the fault stays.
static void no_access_faults() {
  CUdeviceptr base;
  CUmemGenericAllocationHandle block;
  DRIVER(ENTRY(cuMemAddressReserve)(&base, step, 0, 0, 0));
  DRIVER(ENTRY(cuMemCreate)(&block, step, &prop, 0));
  DRIVER(ENTRY(cuMemMap)(base, step, 0, block, 0));
  allow(base, step, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  number<<<1, 32>>>(reinterpret_cast<unsigned *>(base), 32, 0);
  CHECK(cudaDeviceSynchronize());
  allow(base, step, CU_MEM_ACCESS_FLAGS_PROT_NONE);
  number<<<1, 32>>>(reinterpret_cast<unsigned *>(base), 32, 0);
  EXPECT(cudaErrorIllegalAddress, cudaDeviceSynchronize());
}

int main() {
  CHECK(cudaFree(nullptr));
  int supported = 0;
  CHECK(cudaDeviceGetAttribute(
      &supported, static_cast<cudaDeviceAttr>(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED), 0));
  REQUIRE(supported, "the device has no virtual memory management");
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = 0;
  access_all.location = prop.location;
  access_all.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  DRIVER(ENTRY(cuMemGetAllocationGranularity)(&step, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  REQUIRE(step >= 4096 && (step & (step - 1)) == 0, "a granularity of %zu bytes", step);
  growing_buffer();
  aliases();
  refusals();
  no_access_faults();
  return ok("a growing buffer, aliases, refusals, a fault; granularity %zu KiB", step >> 10);
}
