// SPDX-License-Identifier: Apache-2.0
// Tensor cores through mma.h: every shape and type that the architecture has.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;
using wmma::col_major;
using wmma::row_major;

template <int M, int N, int K, typename T, typename Memory, typename S, typename R, typename A, typename B>
__device__ void multiply(const void *a, const void *b, const void *c, void *d) {
  wmma::fragment<wmma::matrix_a, M, N, K, T, A> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, T, B> fb;
  wmma::fragment<wmma::accumulator, M, N, K, S> fc;
  wmma::fragment<wmma::accumulator, M, N, K, R> fd;
  wmma::load_matrix_sync(fa, static_cast<const Memory *>(a), 32);
  wmma::load_matrix_sync(fb, static_cast<const Memory *>(b), 32);
  wmma::load_matrix_sync(fc, static_cast<const S *>(c), 32, wmma::mem_row_major);
  wmma::mma_sync(fd, fa, fb, fc);
  wmma::store_matrix_sync(static_cast<R *>(d), fd, 32, wmma::mem_col_major);
}

template <int M, int N, int K, typename T, typename Memory, typename S, typename R>
__device__ void layouts(const void *a, const void *b, const void *c, void *d) {
  multiply<M, N, K, T, Memory, S, R, row_major, row_major>(a, b, c, d);
  multiply<M, N, K, T, Memory, S, R, row_major, col_major>(a, b, c, d);
  multiply<M, N, K, T, Memory, S, R, col_major, row_major>(a, b, c, d);
  multiply<M, N, K, T, Memory, S, R, col_major, col_major>(a, b, c, d);
}

template <int M, int N, int K>
__device__ void shapes(const void *a, const void *b, const void *c, void *d) {
  layouts<M, N, K, half, half, half, half>(a, b, c, d);
  layouts<M, N, K, half, half, float, float>(a, b, c, d);
  layouts<M, N, K, half, half, half, float>(a, b, c, d);
  layouts<M, N, K, half, half, float, half>(a, b, c, d);
  layouts<M, N, K, signed char, signed char, int, int>(a, b, c, d);
  layouts<M, N, K, unsigned char, unsigned char, int, int>(a, b, c, d);
#if __CUDA_ARCH__ >= 800
  layouts<M, N, K, __nv_bfloat16, __nv_bfloat16, float, float>(a, b, c, d);
#endif
}

extern "C" __global__ void tensor_square(const void *a, const void *b, const void *c, void *d) {
  shapes<16, 16, 16>(a, b, c, d);
}

extern "C" __global__ void tensor_tall(const void *a, const void *b, const void *c, void *d) {
  shapes<32, 8, 16>(a, b, c, d);
}

extern "C" __global__ void tensor_wide(const void *a, const void *b, const void *c, void *d) {
  shapes<8, 32, 16>(a, b, c, d);
}

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void tensor_doubles(const void *a, const void *b, const void *c, void *d) {
  layouts<8, 8, 4, double, double, double, double>(a, b, c, d);
}

extern "C" __global__ void tensor_tf32(const void *a, const void *b, const void *c, void *d) {
  layouts<16, 16, 8, wmma::precision::tf32, float, float, float>(a, b, c, d);
}
#endif

extern "C" __global__ void tensor_shared(const half *a, float *d) {
  __shared__ half tile[256];
  __shared__ float result[256];
  tile[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.5f);
  wmma::load_matrix_sync(fa, tile, 16);
  wmma::load_matrix_sync(fb, tile, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(result, fc, 16, wmma::mem_row_major);
  __syncthreads();
  d[threadIdx.x] = result[threadIdx.x];
}

extern "C" __global__ void tensor_saturated(const signed char *a, const int *c, int *d) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, int> fc;
  wmma::load_matrix_sync(fa, a, 16);
  wmma::load_matrix_sync(fb, a, 16);
  wmma::load_matrix_sync(fc, c, 16, wmma::mem_col_major);
  wmma::mma_sync(fc, fa, fb, fc, true);
  wmma::store_matrix_sync(d, fc, 16, wmma::mem_row_major);
}
