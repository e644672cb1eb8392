// SPDX-License-Identifier: Apache-2.0
// Matrix product through tiles in shared memory; the sizes are no multiple of the tile.
#include "check.h"

constexpr int TILE = 16;

__global__ void multiply(const float *a, const float *b, float *c, int rows, int inner, int columns) {
  __shared__ float tile_a[TILE][TILE];
  __shared__ float tile_b[TILE][TILE + 1];
  int row = blockIdx.y * TILE + threadIdx.y;
  int column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0;
  for (int start = 0; start < inner; start += TILE) {
    int k = start + threadIdx.x;
    tile_a[threadIdx.y][threadIdx.x] = row < rows && k < inner ? a[row * inner + k] : 0;
    k = start + threadIdx.y;
    tile_b[threadIdx.y][threadIdx.x] = column < columns && k < inner ? b[k * columns + column] : 0;
    __syncthreads();
    for (int i = 0; i < TILE; i++) {
      sum = fmaf(tile_a[threadIdx.y][i], tile_b[i][threadIdx.x], sum);
    }
    __syncthreads();
  }
  if (row < rows && column < columns) {
    c[row * columns + column] = sum;
  }
}

int main() {
  const int rows = 200, inner = 177, columns = 219;
  Numbers numbers(3);
  std::vector<float> a(rows * inner), b(inner * columns), expected(rows * columns);
  for (float &value : a) {
    value = numbers.unit() - 0.5f;
  }
  for (float &value : b) {
    value = numbers.unit() - 0.5f;
  }
  for (int row = 0; row < rows; row++) {
    for (int column = 0; column < columns; column++) {
      float sum = 0;
      for (int k = 0; k < inner; k++) {
        sum = std::fma(a[row * inner + k], b[k * columns + column], sum);
      }
      expected[row * columns + column] = sum;
    }
  }
  float *device_a = device_copy(a);
  float *device_b = device_copy(b);
  float *device_c;
  CHECK(cudaMalloc(&device_c, expected.size() * sizeof(float)));
  dim3 block(TILE, TILE);
  dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
  multiply<<<grid, block>>>(device_a, device_b, device_c, rows, inner, columns);
  launched();
  require_equal(host_copy(device_c, expected.size()), expected);
  CHECK(cudaFree(device_a));
  CHECK(cudaFree(device_b));
  CHECK(cudaFree(device_c));
  return ok("%d x %d x %d", rows, inner, columns);
}
