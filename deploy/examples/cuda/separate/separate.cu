// SPDX-License-Identifier: Apache-2.0
// Device code of two files, compiled apart and linked by nvcc.
#include "../check.h"
#include "shapes.cuh"

__global__ void areas(const Shape *shapes, float *results, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    results[i] = area(shapes[i]);
  }
}

int main() {
  const int count = 1000;
  std::vector<Shape> shapes(count);
  std::vector<float> expected(count);
  for (int i = 0; i < count; i++) {
    shapes[i] = {i % 2, i * 0.5f};
    expected[i] = (i % 2 == 0 ? 1.0f : 3.140625f) * shapes[i].size * shapes[i].size;
  }
  Shape *device_shapes = device_copy(shapes);
  float *results;
  CHECK(cudaMalloc(&results, count * sizeof(float)));
  areas<<<(count + 127) / 128, 128>>>(device_shapes, results, count);
  launched();
  require_equal(host_copy(results, count), expected);
  int counted;
  CHECK(cudaMemcpyFromSymbol(&counted, calls, sizeof counted));
  REQUIRE(counted == count, "%d calls were counted", counted);
  CHECK(cudaFree(device_shapes));
  CHECK(cudaFree(results));
  return ok("%d calls across files", counted);
}
