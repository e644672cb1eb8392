// SPDX-License-Identifier: Apache-2.0
// Operations without a function in CUDA C++: queries of textures and surfaces, and reductions on surfaces.
#include "check.h"

__device__ int texture_width(cudaTextureObject_t texture) {
  int value;
  asm("txq.width.b32 %0, [%1];" : "=r"(value) : "l"(texture));
  return value;
}

__device__ int texture_height(cudaTextureObject_t texture) {
  int value;
  asm("txq.height.b32 %0, [%1];" : "=r"(value) : "l"(texture));
  return value;
}

__device__ int surface_width(cudaSurfaceObject_t surface) {
  int value;
  asm("suq.width.b32 %0, [%1];" : "=r"(value) : "l"(surface));
  return value;
}

__device__ int surface_height(cudaSurfaceObject_t surface) {
  int value;
  asm("suq.height.b32 %0, [%1];" : "=r"(value) : "l"(surface));
  return value;
}

__global__ void query(cudaTextureObject_t texture, cudaSurfaceObject_t surface, int *out) {
  out[0] = texture_width(texture);
  out[1] = texture_height(texture);
  out[2] = surface_width(surface);
  out[3] = surface_height(surface);
}

// Row 0 counts, row 1 keeps the largest, row 2 the bits that occurred.
__global__ void reduce(cudaSurfaceObject_t surface, int bins) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  int x = i * 7 % bins * 4;
  asm volatile("sured.b.add.2d.u32.trap [%0, {%1, %2}], %3;"
      :: "l"(surface), "r"(x), "r"(0), "r"(1) : "memory");
  asm volatile("sured.b.max.2d.s32.trap [%0, {%1, %2}], %3;"
      :: "l"(surface), "r"(x), "r"(1), "r"(i) : "memory");
  asm volatile("sured.b.or.2d.b32.trap [%0, {%1, %2}], %3;"
      :: "l"(surface), "r"(x), "r"(2), "r"(1u << i % 31) : "memory");
}

int main() {
  const int width = 48, height = 3, threads = 48 * 128;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &format, width, height, cudaArraySurfaceLoadStore));
  std::vector<int> zeros(width * height), result(width * height);
  CHECK(cudaMemcpy2DToArray(array, 0, 0, zeros.data(), width * 4, width * 4, height,
      cudaMemcpyHostToDevice));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc description{};
  cudaTextureObject_t texture;
  cudaSurfaceObject_t surface;
  CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  CHECK(cudaCreateSurfaceObject(&surface, &resource));

  int *out;
  CHECK(cudaMalloc(&out, 4 * sizeof(int)));
  query<<<1, 1>>>(texture, surface, out);
  launched();
  require_equal(host_copy(out, 4), std::vector<int>{width, height, width, height});

  reduce<<<threads / 128, 128>>>(surface, width);
  launched();
  CHECK(cudaMemcpy2DFromArray(result.data(), width * 4, array, 0, 0, width * 4, height,
      cudaMemcpyDeviceToHost));
  std::vector<int> expected(width * height);
  for (int i = 0; i < threads; i++) {
    int x = i * 7 % width;
    expected[x]++;
    expected[width + x] = i > expected[width + x] ? i : expected[width + x];
    expected[2 * width + x] |= 1u << i % 31;
  }
  require_equal(result, expected);
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaDestroySurfaceObject(surface));
  CHECK(cudaFreeArray(array));
  CHECK(cudaFree(out));
  return ok("%d bins", width);
}
