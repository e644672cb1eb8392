// SPDX-License-Identifier: Apache-2.0
// The driver's copies of runs of bytes from and to one-dimensional arrays, and what it tells of arrays.
#include "driver_entry.h"

int main() {
  CHECK(cudaFree(nullptr));  // makes the context
  const size_t n = 10000, bytes = n * sizeof(short2);
  CUDA_ARRAY_DESCRIPTOR line{n, 0, CU_AD_FORMAT_SIGNED_INT16, 2};
  CUarray first, second;
  DRIVER(ENTRY(cuArrayCreate)(&first, &line));
  DRIVER(ENTRY(cuArrayCreate)(&second, &line));
  std::vector<short2> values(n), result(n);
  for (size_t i = 0; i < n; i++) {
    values[i] = make_short2(short(i), short(-i));
  }
  DRIVER(ENTRY(cuMemcpyHtoA)(first, 0, values.data(), bytes));
  DRIVER(ENTRY(cuMemcpyAtoA)(second, 0, first, bytes / 2, bytes / 2));
  DRIVER(ENTRY(cuMemcpyAtoA)(second, bytes / 2, first, 0, bytes / 2));
  void *memory;
  CHECK(cudaMalloc(&memory, bytes));
  CUdeviceptr device = reinterpret_cast<CUdeviceptr>(memory);
  DRIVER(ENTRY(cuMemcpyAtoD)(device, second, 0, bytes));
  DRIVER(ENTRY(cuMemcpyDtoA)(first, 4, device, bytes - 4));
  DRIVER(ENTRY(cuMemcpyAtoH)(result.data(), first, 0, bytes));
  auto swapped = [&](size_t i) { return values[(i + n / 2) % n]; };
  for (size_t i = 0; i < n; i++) {
    short2 expected = i == 0 ? values[0] : swapped(i - 1);
    REQUIRE(result[i].x == expected.x && result[i].y == expected.y, "element %zu: %d", i,
        result[i].x);
  }
  short2 *pinned;
  CHECK(cudaMallocHost(&pinned, bytes));
  std::memcpy(pinned, values.data(), bytes);
  DRIVER(ENTRY(cuMemcpyHtoAAsync)(first, 0, pinned, bytes, nullptr));
  DRIVER(ENTRY(cuMemcpyAtoHAsync)(pinned, second, 0, bytes, nullptr));
  CHECK(cudaDeviceSynchronize());
  for (size_t i = 0; i < n; i++) {
    REQUIRE(pinned[i].x == swapped(i).x, "page-locked element %zu: %d", i, pinned[i].x);
  }
  REFUSED(CUDA_ERROR_INVALID_VALUE, ENTRY(cuMemcpyHtoA)(first, 4, values.data(), bytes));
  REFUSED(CUDA_ERROR_INVALID_VALUE, ENTRY(cuMemcpyHtoA)(first, 2, values.data(), 4));
  REFUSED(CUDA_ERROR_INVALID_VALUE, ENTRY(cuMemcpyHtoA)(first, 0, nullptr, 4));

  CUDA_ARRAY_DESCRIPTOR found;
  DRIVER(ENTRY(cuArrayGetDescriptor)(&found, first));
  REQUIRE(found.Width == n && found.Height == 0 && found.NumChannels == 2 &&
          found.Format == CU_AD_FORMAT_SIGNED_INT16, "a width of %zu", found.Width);
  DRIVER(ENTRY(cuArrayDestroy)(first));
  DRIVER(ENTRY(cuArrayDestroy)(second));
  REFUSED(CUDA_ERROR_INVALID_HANDLE, ENTRY(cuArrayDestroy)(first));
  REFUSED(CUDA_ERROR_INVALID_HANDLE, ENTRY(cuArrayGetDescriptor)(&found, second));
  line.NumChannels = 3;
  REFUSED(CUDA_ERROR_INVALID_VALUE, ENTRY(cuArrayCreate)(&first, &line));
  CUDA_ARRAY3D_DESCRIPTOR none{};
  REFUSED(CUDA_ERROR_INVALID_VALUE, ENTRY(cuArray3DCreate)(&first, &none));

  // Levels belong to their mipmapped array, and have its format.
  CUDA_ARRAY3D_DESCRIPTOR shape{100, 60, 0, CU_AD_FORMAT_HALF, 4, 0}, level;
  CUmipmappedArray mipmap;
  DRIVER(ENTRY(cuMipmappedArrayCreate)(&mipmap, &shape, 3));
  CUarray part, again;
  DRIVER(ENTRY(cuMipmappedArrayGetLevel)(&part, mipmap, 2));
  DRIVER(ENTRY(cuMipmappedArrayGetLevel)(&again, mipmap, 2));
  REQUIRE(part == again, "a level has two handles");
  DRIVER(ENTRY(cuArray3DGetDescriptor)(&level, part));
  REQUIRE(level.Width == 25 && level.Height == 15 && level.Format == CU_AD_FORMAT_HALF,
      "level 2 is %zu x %zu", level.Width, level.Height);
  REFUSED(CUDA_ERROR_INVALID_VALUE, ENTRY(cuMipmappedArrayGetLevel)(&part, mipmap, 3));
  DRIVER(ENTRY(cuMipmappedArrayDestroy)(mipmap));
  REFUSED(CUDA_ERROR_INVALID_HANDLE, ENTRY(cuArray3DGetDescriptor)(&level, again));
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaFree(memory));
  return ok("%zu elements", n);
}
