// SPDX-License-Identifier: Apache-2.0
// Device functions and globals that another file uses.
#include "shapes.cuh"

__device__ int calls = 0;
__constant__ float factors[2] = {1.0f, 3.140625f};

__device__ float area(const Shape &shape) {
  atomicAdd(&calls, 1);
  return factors[shape.kind] * shape.size * shape.size;
}
