// SPDX-License-Identifier: Apache-2.0
// A product of matrices of bytes with scales, four products at a time: dp4a of both signs, and dp2a.
#include "check.h"

const int m = 70, n = 50, k = 128, tile = 16;

// a is m x k, b is n x k: both have their rows along k, four bytes a word.
__global__ void multiply(const int *a, const int *b, const float *a_scales, const float *b_scales,
    int *exact, float *scaled) {
  __shared__ int a_tile[tile][tile + 1], b_tile[tile][tile + 1];
  int row = blockIdx.y * tile + threadIdx.y, column = blockIdx.x * tile + threadIdx.x, sum = 0;
  for (int base = 0; base < k / 4; base += tile) {
    int b_row = blockIdx.x * tile + threadIdx.y;
    a_tile[threadIdx.y][threadIdx.x] = row < m ? a[row * (k / 4) + base + threadIdx.x] : 0;
    b_tile[threadIdx.y][threadIdx.x] = b_row < n ? b[b_row * (k / 4) + base + threadIdx.x] : 0;
    __syncthreads();
    for (int i = 0; i < tile; i++) sum = __dp4a(a_tile[threadIdx.y][i], b_tile[threadIdx.x][i], sum);
    __syncthreads();
  }
  if (row < m && column < n) {
    exact[row * n + column] = sum;
    scaled[row * n + column] = sum * a_scales[row] * b_scales[column];
  }
}

__global__ void others(const int *a, const int *b, int words, unsigned *unsigned_sum, int *half_sum) {
  unsigned sum = 0;
  int halves = 0;
  for (int i = threadIdx.x; i < words; i += 32) {
    sum = __dp4a(unsigned(a[i]), unsigned(b[i]), sum);
    halves = __dp2a_hi(a[i], b[i], __dp2a_lo(a[i], b[i], halves));
  }
  atomicAdd(unsigned_sum, sum);
  atomicAdd(half_sum, halves);
}

int main() {
  Numbers numbers(54);
  std::vector<signed char> a(m * k), b(n * k);
  std::vector<float> a_scales(m), b_scales(n);
  for (signed char &value : a) value = static_cast<signed char>(numbers.next());
  for (signed char &value : b) value = static_cast<signed char>(numbers.next());
  for (float &value : a_scales) value = numbers.unit() / 100;
  for (float &value : b_scales) value = numbers.unit() / 100;
  std::vector<int> expected(m * n);
  std::vector<float> scaled(m * n);
  for (int i = 0; i < m * n; i++) {
    for (int j = 0; j < k; j++) expected[i] += a[i / n * k + j] * b[i % n * k + j];
    scaled[i] = expected[i] * a_scales[i / n] * b_scales[i % n];
  }
  auto *d_a = reinterpret_cast<int *>(device_copy(a)), *d_b = reinterpret_cast<int *>(device_copy(b));
  float *d_a_scales = device_copy(a_scales), *d_b_scales = device_copy(b_scales), *d_scaled;
  int *d_exact, *sums = device_copy(std::vector<int>(2, 0));
  CHECK(cudaMalloc(&d_exact, m * n * sizeof(int)));
  CHECK(cudaMalloc(&d_scaled, m * n * sizeof(float)));
  dim3 grid((n + tile - 1) / tile, (m + tile - 1) / tile), block(tile, tile);
  multiply<<<grid, block>>>(d_a, d_b, d_a_scales, d_b_scales, d_exact, d_scaled);
  others<<<1, 32>>>(d_a, d_b, n * k / 4, reinterpret_cast<unsigned *>(sums), sums + 1);
  launched();
  require_equal(host_copy(d_exact, m * n), expected);
  require_equal(host_copy(d_scaled, m * n), scaled);
  unsigned bytes = 0;
  int halves = 0;
  for (int i = 0; i < n * k; i++) bytes += unsigned(a[i] & 255) * unsigned(b[i] & 255);
  for (int i = 0; i < n * k / 4; i++) {
    short low, high;
    std::memcpy(&low, &a[4 * i], 2);
    std::memcpy(&high, &a[4 * i + 2], 2);
    halves += low * b[4 * i] + high * b[4 * i + 1] + low * b[4 * i + 2] + high * b[4 * i + 3];
  }
  std::vector<int> actual = host_copy(sums, 2);
  REQUIRE(unsigned(actual[0]) == bytes && actual[1] == halves, "sums %u and %d, not %u and %d",
      unsigned(actual[0]), actual[1], bytes, halves);
  for (void *memory : {static_cast<void *>(d_a), static_cast<void *>(d_b), static_cast<void *>(d_exact),
           static_cast<void *>(sums), static_cast<void *>(d_scaled),
           static_cast<void *>(d_a_scales), static_cast<void *>(d_b_scales)}) {
    CHECK(cudaFree(memory));
  }
  return ok("%d x %d x %d", m, n, k);
}
