// SPDX-License-Identifier: Apache-2.0
// Memory of a length known at run time on the stack, in functions that call themselves, too.
#include <alloca.h>

#include "check.h"

__device__ int filled(int length, int seed) {
  int *values = static_cast<int *>(alloca(length * sizeof(int)));
  for (int i = 0; i < length; i++) values[i] = seed * i;
  int sum = 0;
  for (int i = length - 1; i >= 0; i--) sum += values[i] ^ i;
  return sum;
}

__noinline__ __device__ int nested(int depth, int length) {
  int *values = static_cast<int *>(alloca((length + depth) * sizeof(int)));
  for (int i = 0; i < length + depth; i++) values[i] = i * depth;
  int below = depth > 0 ? nested(depth - 1, length + 1) : 0;
  int sum = below;
  for (int i = 0; i < length + depth; i++) sum += values[i];
  return sum;
}

__global__ void work(int *out) {
  int i = threadIdx.x;
  int first = filled(3 + i % 40, i);
  int second = filled(1 + i % 17, i + 1);
  out[i] = first * 3 + second + nested(i % 6, 4 + i % 5);
}

static int filled_here(int length, int seed) {
  int sum = 0;
  for (int i = 0; i < length; i++) sum += seed * i ^ i;
  return sum;
}

static int nested_here(int depth, int length) {
  int count = length + depth, sum = depth > 0 ? nested_here(depth - 1, length + 1) : 0;
  return sum + depth * (count * (count - 1) / 2);
}

int main() {
  const int n = 256;
  std::vector<int> expected(n);
  for (int i = 0; i < n; i++) {
    expected[i] = filled_here(3 + i % 40, i) * 3 + filled_here(1 + i % 17, i + 1) +
                  nested_here(i % 6, 4 + i % 5);
  }
  int *out;
  CHECK(cudaMalloc(&out, n * sizeof(int)));
  work<<<1, n>>>(out);
  launched();
  require_equal(host_copy(out, n), expected);
  CHECK(cudaFree(out));
  return ok("%d threads", n);
}
