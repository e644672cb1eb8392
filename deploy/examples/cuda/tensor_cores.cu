// SPDX-License-Identifier: Apache-2.0
// Products of matrices by tensor cores: with nvcuda::wmma, and with mma and ldmatrix as libraries write them.
// nvcc: -gencode arch=compute_80,code=compute_80
#include <cuda_fp16.h>
#include <mma.h>

#include "check.h"

const int rows = 64, columns = 48, depth = 80;

// A warp for each tile of 16 x 16 of the product.
template <typename Sum>
__global__ void by_fragments(const half *a, const half *b, Sum *c) {
#if __CUDA_ARCH__ >= 800
  using namespace nvcuda;
  int row = blockIdx.y * 16, column = blockIdx.x * 16;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, Sum> sum;
  wmma::fill_fragment(sum, Sum(0.0f));
  for (int k = 0; k < depth; k += 16) {
    wmma::load_matrix_sync(left, a + row * depth + k, depth);
    wmma::load_matrix_sync(right, b + column * depth + k, depth);
    wmma::mma_sync(sum, left, right, sum);
  }
  for (int i = 0; i < sum.num_elements; i++) sum.x[i] = sum.x[i] * Sum(0.5f);
  wmma::store_matrix_sync(c + row * columns + column, sum, columns, wmma::mem_row_major);
#endif
}

// A warp for each tile of 16 x 8; its part of a and b goes through shared memory.
__global__ void by_instructions(const half *a, const half *b, float *c) {
#if __CUDA_ARCH__ >= 800
  __shared__ __align__(16) half left[16 * 16], right[8 * 16];
  int row = blockIdx.y * 16, column = blockIdx.x * 8, lane = threadIdx.x;
  float sum[4] = {};
  for (int k = 0; k < depth; k += 16) {
    for (int i = lane; i < 16 * 16; i += 32) left[i] = a[(row + i / 16) * depth + k + i % 16];
    for (int i = lane; i < 8 * 16; i += 32) right[i] = b[(column + i / 16) * depth + k + i % 16];
    __syncwarp();
    uint32_t x[4], y[2];
    uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(left + lane % 16 * 16 + lane / 16 * 8));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(at));
    at = static_cast<uint32_t>(__cvta_generic_to_shared(right + lane % 8 * 16 + lane / 8 % 2 * 8));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(y[0]), "=r"(y[1]) : "r"(at));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    __syncwarp();
  }
  for (int i = 0; i < 4; i++) {
    c[(row + lane / 4 + i / 2 * 8) * columns + column + lane % 4 * 2 + i % 2] = 0.5f * sum[i];
  }
#endif
}

// Bytes, sums of 32 bits.
__global__ void by_bytes(const signed char *a, const signed char *b, int *c) {
#if __CUDA_ARCH__ >= 800
  using namespace nvcuda;
  int row = blockIdx.y * 16, column = blockIdx.x * 16;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, int> sum;
  wmma::fill_fragment(sum, 0);
  for (int k = 0; k < depth; k += 16) {
    wmma::load_matrix_sync(left, a + row * depth + k, depth);
    wmma::load_matrix_sync(right, b + column * depth + k, depth);
    wmma::mma_sync(sum, left, right, sum);
  }
  wmma::store_matrix_sync(c + row * columns + column, sum, columns, wmma::mem_row_major);
#endif
}

template <typename T>
static T *copied(const std::vector<T> &values) {
  T *device;
  CHECK(cudaMalloc(&device, values.size() * sizeof(T)));
  CHECK(cudaMemcpy(device, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

template <typename T>
static void expect_all(const char *what, const T *device, const std::vector<double> &expected) {
  std::vector<T> found(expected.size());
  CHECK(cudaMemcpy(found.data(), device, found.size() * sizeof(T), cudaMemcpyDeviceToHost));
  for (size_t i = 0; i < found.size(); i++) {
    REQUIRE(double(found[i]) == expected[i], "%s: element %zu is %g, not %g", what, i, double(found[i]),
        expected[i]);
  }
}

int main() {
  // Small multiples of a quarter, whose sums all types hold.
  std::vector<half> a(rows * depth), b(depth * columns);
  std::vector<signed char> bytesOfA(a.size()), bytesOfB(b.size());
  for (size_t i = 0; i < a.size(); i++) a[i] = __float2half((bytesOfA[i] = int(i * 7 % 9) - 4) / 4.0f);
  for (size_t i = 0; i < b.size(); i++) b[i] = __float2half((bytesOfB[i] = int(i * 5 % 7) - 3) / 4.0f);
  std::vector<double> expected(rows * columns), whole(rows * columns);
  for (int i = 0; i < rows; i++) {
    for (int j = 0; j < columns; j++) {
      double sum = 0;
      for (int k = 0; k < depth; k++) sum += bytesOfA[i * depth + k] * bytesOfB[j * depth + k];
      whole[i * columns + j] = sum;
      expected[i * columns + j] = sum / 32;
    }
  }
  half *left = copied(a), *right = copied(b);
  std::vector<float> none(rows * columns);
  float *c = copied(none);
  dim3 tiles(columns / 16, rows / 16);
  by_fragments<<<tiles, 32>>>(left, right, c);
  expect_all("by fragments", c, expected);
  half *halves = copied(std::vector<half>(rows * columns));
  by_fragments<<<tiles, 32>>>(left, right, halves);
  expect_all("by fragments of halves", halves, expected);
  by_instructions<<<dim3(columns / 8, rows / 16), 32>>>(left, right, c);
  expect_all("by instructions", c, expected);
  int *sums = copied(std::vector<int>(rows * columns));
  by_bytes<<<tiles, 32>>>(copied(bytesOfA), copied(bytesOfB), sums);
  expect_all("by bytes", sums, whole);
  return ok("%d x %d x %d in halves and bytes", rows, columns, depth);
}
