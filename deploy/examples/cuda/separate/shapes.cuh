// SPDX-License-Identifier: Apache-2.0
// Declarations that the two files of the separately compiled program share.
#pragma once

struct Shape {
  int kind;
  float size;
};

extern __device__ int calls;
extern __constant__ float factors[2];

__device__ float area(const Shape &shape);
