// SPDX-License-Identifier: Apache-2.0
// Constant memory and device globals: initial values, symbols copied both ways, their addresses.
#include "check.h"

struct Weights {
  float scale;
  double offset;
  int shift[3];
};

__constant__ Weights weights = {2.0f, 0.5, {1, 2, 3}};
__constant__ float polynomial[5];
__device__ int counter = 41;
__device__ int table[16] = {1, 1, 2, 3, 5, 8, 13, 21};
__device__ double *indirect;

__global__ void evaluate(const float *x, double *y, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    float sum = 0;
    for (int power = 4; power >= 0; power--) {
      sum = fmaf(sum, x[i], polynomial[power]);
    }
    y[i] = fma(double(sum), double(weights.scale), weights.offset) + weights.shift[i % 3];
    atomicAdd(&counter, table[i % 16]);
  }
}

__global__ void store_indirect(double value) { indirect[threadIdx.x] = value + threadIdx.x; }

int main() {
  const int count = 1000;
  const float coefficients[5] = {1.0f, -0.5f, 0.25f, 2.0f, -1.0f};
  CHECK(cudaMemcpyToSymbol(polynomial, coefficients, sizeof coefficients));
  const int third = 30;
  CHECK(cudaMemcpyToSymbol(weights, &third, sizeof(int), offsetof(Weights, shift) + 2 * sizeof(int)));
  const int last = 100;
  CHECK(cudaMemcpyToSymbol(table, &last, sizeof(int), 15 * sizeof(int)));

  std::vector<float> x(count);
  std::vector<double> expected(count);
  const int numbers[16] = {1, 1, 2, 3, 5, 8, 13, 21, 0, 0, 0, 0, 0, 0, 0, 100};
  const int shifts[3] = {1, 2, 30};
  int expected_counter = 41;
  for (int i = 0; i < count; i++) {
    x[i] = (i - 500) / 256.0f;
    float sum = 0;
    for (int power = 4; power >= 0; power--) {
      sum = std::fma(sum, x[i], coefficients[power]);
    }
    expected[i] = std::fma(double(sum), 2.0, 0.5) + shifts[i % 3];
    expected_counter += numbers[i % 16];
  }
  float *device_x = device_copy(x);
  double *device_y;
  CHECK(cudaMalloc(&device_y, count * sizeof(double)));
  evaluate<<<(count + 127) / 128, 128>>>(device_x, device_y, count);
  launched();
  require_equal(host_copy(device_y, count), expected);
  int counted;
  CHECK(cudaMemcpyFromSymbol(&counted, counter, sizeof counted));
  REQUIRE(counted == expected_counter, "counter is %d, not %d", counted, expected_counter);

  void *address;
  size_t bytes;
  CHECK(cudaGetSymbolAddress(&address, table));
  CHECK(cudaGetSymbolSize(&bytes, table));
  REQUIRE(bytes == sizeof numbers, "the table has %zu bytes", bytes);
  require_equal(host_copy(static_cast<int *>(address), 16), std::vector<int>(numbers, numbers + 16));

  CHECK(cudaMemcpyToSymbol(indirect, &device_y, sizeof device_y));
  store_indirect<<<1, 32>>>(0.5);
  REQUIRE(host_copy(device_y, 32)[31] == 31.5, "the pointer in a global was not followed");
  CHECK(cudaFree(device_x));
  CHECK(cudaFree(device_y));
  return ok("%d elements, counter %d", count, counted);
}
