// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects that are destroyed while a kernel reads them: the kernel ends its work.
#include "check.h"

static const int COUNT = 1 << 16, ROUNDS = 500;

__global__ void sum(cudaTextureObject_t texture, float *sums) {
  int own = blockIdx.x * blockDim.x + threadIdx.x;
  float value = 0;
  for (int round = 0; round < ROUNDS; round++) {
    value += tex1Dfetch<float>(texture, (own + round) % COUNT);
  }
  sums[own] = value;
}

__global__ void fill(cudaSurfaceObject_t surface, int rounds) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  for (int round = 1; round <= rounds; round++) {
    surf1Dwrite(x + round, surface, x * static_cast<int>(sizeof(int)));
  }
}

static void texture_read_to_its_end() {
  std::vector<float> values(COUNT);
  for (int i = 0; i < COUNT; i++) {
    values[i] = static_cast<float>(i % 7);
  }
  float *memory, *sums;
  CHECK(cudaMalloc(&memory, COUNT * sizeof(float)));
  CHECK(cudaMalloc(&sums, COUNT * sizeof(float)));
  CHECK(cudaMemcpy(memory, values.data(), COUNT * sizeof(float), cudaMemcpyHostToDevice));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = memory;
  resource.res.linear.desc = cudaCreateChannelDesc<float>();
  resource.res.linear.sizeInBytes = COUNT * sizeof(float);
  cudaTextureDesc description = {};
  cudaTextureObject_t texture;
  CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  sum<<<COUNT / 256, 256>>>(texture, sums);
  launched();
  CHECK(cudaDestroyTextureObject(texture));
  std::vector<float> got = host_copy(sums, COUNT);
  for (int i = 0; i < COUNT; i++) {
    float wanted = 0;
    for (int round = 0; round < ROUNDS; round++) {
      wanted += values[(i + round) % COUNT];
    }
    REQUIRE(got[i] == wanted, "sum %d is %g, not %g", i, got[i], wanted);
  }
  CHECK(cudaFree(memory));
  CHECK(cudaFree(sums));
}

static void surface_written_to_its_end() {
  const int width = 1024;
  cudaArray_t array;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
  CHECK(cudaMallocArray(&array, &format, width, 0, cudaArraySurfaceLoadStore));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t surface;
  CHECK(cudaCreateSurfaceObject(&surface, &resource));
  fill<<<width / 256, 256>>>(surface, ROUNDS);
  launched();
  CHECK(cudaDestroySurfaceObject(surface));
  std::vector<int> got(width);
  CHECK(cudaMemcpy2DFromArray(got.data(), width * sizeof(int), array, 0, 0, width * sizeof(int), 1,
                              cudaMemcpyDeviceToHost));
  for (int i = 0; i < width; i++) {
    REQUIRE(got[i] == i + ROUNDS, "element %d is %d", i, got[i]);
  }
  CHECK(cudaFreeArray(array));
}

int main() {
  texture_read_to_its_end();
  surface_written_to_its_end();
  return ok("a texture and a surface, destroyed while kernels used them");
}
