// SPDX-License-Identifier: Apache-2.0
// A launch that a software GPU does not support is refused and leaves no error behind: products of single
// bits on tensor cores. A card executes them, and both execute products of halves.
// nvcc: -gencode arch=compute_90,code=compute_90
#include <mma.h>

#include "check.h"

__global__ void add(int *out, int value) { atomicAdd(out, value); }

// All bits of a differ from those of b, 128 for each of the 64 elements.
__global__ void single_bits(int *out) {
  int x = 0, y = 0;
  asm volatile(
      "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+r"(x), "+r"(y)
      : "r"(-1), "r"(0));
  atomicAdd(out, x + y);
}

__global__ void tensor_cores(int *out) {
  namespace wmma = nvcuda::wmma;
  __shared__ half a[256], b[256];
  __shared__ float c[256];
  for (int i = threadIdx.x; i < 256; i += 32) {
    a[i] = __float2half(i / 16 == i % 16);
    b[i] = __float2half(i);
  }
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> y;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> z;
  wmma::fill_fragment(z, 1);
  wmma::load_matrix_sync(x, a, 16);
  wmma::load_matrix_sync(y, b, 16);
  wmma::mma_sync(z, x, y, z);
  wmma::store_matrix_sync(c, z, 16, wmma::mem_row_major);
  __syncwarp();
  int right = 0;
  for (int i = threadIdx.x; i < 256; i += 32) right += c[i] == i + 1;
  atomicAdd(out, right);
}

// Either it did what it should, or it was refused and did nothing.
static bool done(const char *what, cudaError_t error, int *out, int expected) {
  error = error == cudaSuccess ? cudaDeviceSynchronize() : error;
  int result = host_copy(out, 1)[0];
  CHECK(cudaMemset(out, 0, sizeof *out));
  if (error == cudaSuccess) {
    REQUIRE(result == expected, "%s gives %d, not %d", what, result, expected);
    return true;
  }
  REQUIRE(error == cudaErrorNotSupported && result == 0, "%s gives %d %s, and %d", what, error,
      cudaGetErrorName(error), result);
  cudaGetLastError();
  add<<<1, 32>>>(out, 1);
  launched();
  REQUIRE(host_copy(out, 1)[0] == 32, "after %s another kernel does not run", what);
  CHECK(cudaMemset(out, 0, sizeof *out));
  return false;
}

int main() {
  int *out = device_copy(std::vector<int>{0}), count = 0;
  single_bits<<<1, 32>>>(out);
  count += done("a product of single bits", cudaGetLastError(), out, 64 * 128);
  tensor_cores<<<1, 32>>>(out);
  count += done("a product on tensor cores", cudaGetLastError(), out, 256);
  CHECK(cudaFree(out));
  return ok("%d of 2 are done", count);
}
