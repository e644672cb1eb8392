// SPDX-License-Identifier: Apache-2.0
// Recursion: queens on a board, Ackermann's function, functions that call each other, quicksort; and its limit.
#include "check.h"

#include <algorithm>

__device__ int queens(int n, unsigned columns, unsigned left, unsigned right) {
  unsigned all = (1u << n) - 1;
  if (columns == all) return 1;
  int count = 0;
  for (unsigned free = all & ~(columns | left | right); free != 0; free &= free - 1) {
    unsigned place = free & -free;
    count += queens(n, columns | place, (left | place) << 1, (right | place) >> 1);
  }
  return count;
}

__host__ __device__ int ackermann(int m, int n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

__host__ __device__ int hofstadter_male(int n);

__host__ __device__ int hofstadter_female(int n) {
  return n == 0 ? 1 : n - hofstadter_male(hofstadter_female(n - 1));
}

__host__ __device__ int hofstadter_male(int n) {
  return n == 0 ? 0 : n - hofstadter_female(hofstadter_male(n - 1));
}

__device__ void quicksort(int *values, int count) {
  if (count < 2) return;
  int pivot = values[count / 2], i = 0, j = count - 1;
  while (i <= j) {
    while (values[i] < pivot) i++;
    while (values[j] > pivot) j--;
    if (i <= j) {
      int t = values[i];
      values[i++] = values[j];
      values[j--] = t;
    }
  }
  quicksort(values, j + 1);
  quicksort(values + i, count - i);
}

__global__ void compute(int *board, int *functions) {
  int i = threadIdx.x;
  // Each thread has its own first row's queen.
  if (i < 8) board[i] = queens(8, 1u << i, 2u << i, 1u << i >> 1);
  functions[i] = ackermann(i % 3, i % 5) + 1000 * hofstadter_male(i % 12) + 20000 * hofstadter_female(i % 12);
}

__global__ void sort_parts(int *values, int each) {
  quicksort(values + (blockIdx.x * blockDim.x + threadIdx.x) * each, each);
}

__device__ __noinline__ int endless(int depth, volatile int *sink) {
  int local[64];
  for (int i = 0; i < 64; i++) local[i] = depth + *sink;
  int result = endless(depth + 1, sink);
  for (int i = 0; i < 64; i++) result += local[i];
  return result;
}

__global__ void fall(int *out) { *out = endless(0, out); }

int main() {
  size_t stack;
  CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 8 << 10));
  CHECK(cudaDeviceGetLimit(&stack, cudaLimitStackSize));
  REQUIRE(stack >= 8 << 10, "the stack has %zu bytes", stack);
  int *board, *functions;
  CHECK(cudaMalloc(&board, 8 * sizeof(int)));
  CHECK(cudaMalloc(&functions, 60 * sizeof(int)));
  compute<<<1, 60>>>(board, functions);
  launched();
  int solutions = 0;
  for (int count : host_copy(board, 8)) solutions += count;
  REQUIRE(solutions == 92, "%d ways to place 8 queens", solutions);
  std::vector<int> expected(60);
  for (int i = 0; i < 60; i++) {
    expected[i] = ackermann(i % 3, i % 5) + 1000 * hofstadter_male(i % 12) +
        20000 * hofstadter_female(i % 12);
  }
  require_equal(host_copy(functions, 60), expected);

  const int parts = 64, each = 100;
  Numbers numbers(49);
  std::vector<int> values(parts * each);
  for (int &value : values) value = int(numbers.next() % 1000);
  int *device = device_copy(values);
  sort_parts<<<2, parts / 2>>>(device, each);
  launched();
  for (int i = 0; i < parts; i++) {
    std::sort(values.begin() + i * each, values.begin() + (i + 1) * each);
  }
  require_equal(host_copy(device, parts * each), values);

  // A function without an end runs out of its stack; the error stays with the context.
  fall<<<1, 1>>>(board);
  launched();
  cudaError_t error = cudaDeviceSynchronize();
  REQUIRE(error == cudaErrorIllegalAddress || error == cudaErrorHardwareStackError ||
          error == cudaErrorLaunchFailure,
      "endless recursion gives %d %s", error, cudaGetErrorName(error));
  EXPECT(error, cudaDeviceSynchronize());
  return ok("%d ways for 8 queens, endless recursion is %s", solutions, cudaGetErrorName(error));
}
