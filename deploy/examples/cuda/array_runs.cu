// SPDX-License-Identifier: Apache-2.0
// The driver's copies of runs of bytes from and to one-dimensional arrays, and what it tells of arrays.
#include "check.h"

#include <cuda.h>

template <typename F>
static void find(F &function, const char *name) {
  void *address;
  cudaDriverEntryPointQueryResult status;
  CHECK(cudaGetDriverEntryPointByVersion(name, &address, 12000, cudaEnableDefault, &status));
  REQUIRE(status == cudaDriverEntryPointSuccess, "no %s", name);
  function = reinterpret_cast<F>(address);
}

#define FIND(name) \
  decltype(&::name) name##_; \
  find(name##_, #name)
#define DRIVER(expected, call) \
  do { \
    CUresult got = (call); \
    REQUIRE(got == (expected), "%s is %d", #call, got); \
  } while (0)

int main() {
  CHECK(cudaFree(nullptr));  // makes the context
  FIND(cuArrayCreate);
  FIND(cuArray3DCreate);
  FIND(cuArrayDestroy);
  FIND(cuArrayGetDescriptor);
  FIND(cuArray3DGetDescriptor);
  FIND(cuMemcpyHtoA);
  FIND(cuMemcpyAtoH);
  FIND(cuMemcpyAtoA);
  FIND(cuMemcpyDtoA);
  FIND(cuMemcpyAtoD);
  FIND(cuMemcpyHtoAAsync);
  FIND(cuMemcpyAtoHAsync);
  FIND(cuMipmappedArrayCreate);
  FIND(cuMipmappedArrayGetLevel);
  FIND(cuMipmappedArrayDestroy);

  const size_t n = 10000, bytes = n * sizeof(short2);
  CUDA_ARRAY_DESCRIPTOR line{n, 0, CU_AD_FORMAT_SIGNED_INT16, 2};
  CUarray first, second;
  DRIVER(CUDA_SUCCESS, cuArrayCreate_(&first, &line));
  DRIVER(CUDA_SUCCESS, cuArrayCreate_(&second, &line));
  std::vector<short2> values(n), result(n);
  for (size_t i = 0; i < n; i++) {
    values[i] = make_short2(short(i), short(-i));
  }
  DRIVER(CUDA_SUCCESS, cuMemcpyHtoA_(first, 0, values.data(), bytes));
  DRIVER(CUDA_SUCCESS, cuMemcpyAtoA_(second, 0, first, bytes / 2, bytes / 2));
  DRIVER(CUDA_SUCCESS, cuMemcpyAtoA_(second, bytes / 2, first, 0, bytes / 2));
  void *memory;
  CHECK(cudaMalloc(&memory, bytes));
  CUdeviceptr device = reinterpret_cast<CUdeviceptr>(memory);
  DRIVER(CUDA_SUCCESS, cuMemcpyAtoD_(device, second, 0, bytes));
  DRIVER(CUDA_SUCCESS, cuMemcpyDtoA_(first, 4, device, bytes - 4));
  DRIVER(CUDA_SUCCESS, cuMemcpyAtoH_(result.data(), first, 0, bytes));
  auto swapped = [&](size_t i) { return values[(i + n / 2) % n]; };
  for (size_t i = 0; i < n; i++) {
    short2 expected = i == 0 ? values[0] : swapped(i - 1);
    REQUIRE(result[i].x == expected.x && result[i].y == expected.y, "element %zu: %d", i,
        result[i].x);
  }
  short2 *pinned;
  CHECK(cudaMallocHost(&pinned, bytes));
  std::memcpy(pinned, values.data(), bytes);
  DRIVER(CUDA_SUCCESS, cuMemcpyHtoAAsync_(first, 0, pinned, bytes, nullptr));
  DRIVER(CUDA_SUCCESS, cuMemcpyAtoHAsync_(pinned, second, 0, bytes, nullptr));
  CHECK(cudaDeviceSynchronize());
  for (size_t i = 0; i < n; i++) {
    REQUIRE(pinned[i].x == swapped(i).x, "page-locked element %zu: %d", i, pinned[i].x);
  }
  DRIVER(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoA_(first, 4, values.data(), bytes));
  DRIVER(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoA_(first, 2, values.data(), 4));
  DRIVER(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoA_(first, 0, nullptr, 4));

  CUDA_ARRAY_DESCRIPTOR found;
  DRIVER(CUDA_SUCCESS, cuArrayGetDescriptor_(&found, first));
  REQUIRE(found.Width == n && found.Height == 0 && found.NumChannels == 2 &&
          found.Format == CU_AD_FORMAT_SIGNED_INT16, "a width of %zu", found.Width);
  DRIVER(CUDA_SUCCESS, cuArrayDestroy_(first));
  DRIVER(CUDA_SUCCESS, cuArrayDestroy_(second));
  DRIVER(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy_(first));
  DRIVER(CUDA_ERROR_INVALID_HANDLE, cuArrayGetDescriptor_(&found, second));
  line.NumChannels = 3;
  DRIVER(CUDA_ERROR_INVALID_VALUE, cuArrayCreate_(&first, &line));
  CUDA_ARRAY3D_DESCRIPTOR none{};
  DRIVER(CUDA_ERROR_INVALID_VALUE, cuArray3DCreate_(&first, &none));

  // Levels belong to their mipmapped array, and have its format.
  CUDA_ARRAY3D_DESCRIPTOR shape{100, 60, 0, CU_AD_FORMAT_HALF, 4, 0}, level;
  CUmipmappedArray mipmap;
  DRIVER(CUDA_SUCCESS, cuMipmappedArrayCreate_(&mipmap, &shape, 3));
  CUarray part, again;
  DRIVER(CUDA_SUCCESS, cuMipmappedArrayGetLevel_(&part, mipmap, 2));
  DRIVER(CUDA_SUCCESS, cuMipmappedArrayGetLevel_(&again, mipmap, 2));
  REQUIRE(part == again, "a level has two handles");
  DRIVER(CUDA_SUCCESS, cuArray3DGetDescriptor_(&level, part));
  REQUIRE(level.Width == 25 && level.Height == 15 && level.Format == CU_AD_FORMAT_HALF,
      "level 2 is %zu x %zu", level.Width, level.Height);
  DRIVER(CUDA_ERROR_INVALID_VALUE, cuMipmappedArrayGetLevel_(&part, mipmap, 3));
  DRIVER(CUDA_SUCCESS, cuMipmappedArrayDestroy_(mipmap));
  DRIVER(CUDA_ERROR_INVALID_HANDLE, cuArray3DGetDescriptor_(&level, again));
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaFree(memory));
  return ok("%zu elements", n);
}
