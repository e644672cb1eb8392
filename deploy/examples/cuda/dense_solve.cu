// SPDX-License-Identifier: Apache-2.0
// Dense linear equations by LU with pivots, by Cholesky and by Householder's QR, one block each.
#include "check.h"

const int n = 96, threads = 128;

// Matrices are row by row. Solves in place: b becomes x.
__global__ void solve_lu(double *a, double *b, int *swaps) {
  __shared__ int pivot;
  for (int k = 0; k < n; k++) {
    if (threadIdx.x == 0) {
      pivot = k;
      for (int i = k + 1; i < n; i++) {
        if (fabs(a[i * n + k]) > fabs(a[pivot * n + k])) pivot = i;
      }
      if (pivot != k) {
        double t = b[k];
        b[k] = b[pivot];
        b[pivot] = t;
        ++*swaps;
      }
    }
    __syncthreads();
    if (pivot != k) {
      for (int j = threadIdx.x; j < n; j += threads) {
        double t = a[k * n + j];
        a[k * n + j] = a[pivot * n + j];
        a[pivot * n + j] = t;
      }
    }
    __syncthreads();
    for (int i = k + 1 + threadIdx.x; i < n; i += threads) {
      double factor = a[i * n + k] /= a[k * n + k];
      for (int j = k + 1; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
      b[i] -= factor * b[k];
    }
    __syncthreads();
  }
  for (int k = n - 1; k >= 0; k--) {
    if (threadIdx.x == 0) b[k] /= a[k * n + k];
    __syncthreads();
    for (int i = threadIdx.x; i < k; i += threads) b[i] -= a[i * n + k] * b[k];
    __syncthreads();
  }
}

__global__ void solve_cholesky(double *a, double *b) {
  for (int k = 0; k < n; k++) {
    if (threadIdx.x == 0) a[k * n + k] = sqrt(a[k * n + k]);
    __syncthreads();
    for (int i = k + 1 + threadIdx.x; i < n; i += threads) a[i * n + k] /= a[k * n + k];
    __syncthreads();
    for (int i = k + 1 + threadIdx.x; i < n; i += threads) {
      for (int j = k + 1; j <= i; j++) a[i * n + j] -= a[i * n + k] * a[j * n + k];
    }
    __syncthreads();
  }
  for (int k = 0; k < n; k++) {
    if (threadIdx.x == 0) b[k] /= a[k * n + k];
    __syncthreads();
    for (int i = k + 1 + threadIdx.x; i < n; i += threads) b[i] -= a[i * n + k] * b[k];
    __syncthreads();
  }
  for (int k = n - 1; k >= 0; k--) {
    if (threadIdx.x == 0) b[k] /= a[k * n + k];
    __syncthreads();
    for (int i = threadIdx.x; i < k; i += threads) b[i] -= a[k * n + i] * b[k];
    __syncthreads();
  }
}

// rows x n, rows >= n: the least squares solution in the first n elements of b.
__global__ void solve_qr(double *a, double *b, int rows) {
  __shared__ double norm, head;
  for (int k = 0; k < n; k++) {
    if (threadIdx.x == 0) {
      double sum = 0;
      for (int i = k; i < rows; i++) sum += a[i * n + k] * a[i * n + k];
      double alpha = copysign(sqrt(sum), -a[k * n + k]);
      head = a[k * n + k] - alpha;
      norm = sum - 2 * alpha * a[k * n + k] + alpha * alpha;
    }
    __syncthreads();
    // Every column to the right, and b as the last, is reflected by a thread of its own.
    for (int j = k + 1 + threadIdx.x; j <= n; j += threads) {
      double *column = j < n ? a + j : b;
      int step = j < n ? n : 1;
      double dot = head * column[k * step];
      for (int i = k + 1; i < rows; i++) dot += a[i * n + k] * column[i * step];
      double factor = 2 * dot / norm;
      column[k * step] -= factor * head;
      for (int i = k + 1; i < rows; i++) column[i * step] -= factor * a[i * n + k];
    }
    __syncthreads();
    if (threadIdx.x == 0) a[k * n + k] -= head;
    __syncthreads();
  }
  for (int k = n - 1; k >= 0; k--) {
    if (threadIdx.x == 0) b[k] /= a[k * n + k];
    __syncthreads();
    for (int i = threadIdx.x; i < k; i += threads) b[i] -= a[i * n + k] * b[k];
    __syncthreads();
  }
}

int main() {
  const int rows = 150;
  Numbers numbers(35);
  std::vector<double> tall(rows * n), square(n * n), positive(n * n), x(n);
  for (double &value : tall) value = numbers.unit() * 2 - 1;
  for (double &value : square) value = numbers.unit() * 2 - 1;
  for (double &value : x) value = numbers.unit() * 20 - 10;
  square[0] = 0;  // no way without a swap
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) {
      for (int k = 0; k < rows; k++) positive[i * n + j] += tall[k * n + i] * tall[k * n + j];
    }
  }
  auto times_x = [&](const std::vector<double> &matrix) {
    std::vector<double> product(matrix.size() / n);
    for (size_t i = 0; i < matrix.size(); i++) product[i / n] += matrix[i] * x[i % n];
    return product;
  };
  double *a = device_copy(square), *b = device_copy(times_x(square));
  int *swaps = device_copy(std::vector<int>{0});
  solve_lu<<<1, threads>>>(a, b, swaps);
  launched();
  require_close(host_copy(b, n), x, 1e-10);
  REQUIRE(host_copy(swaps, 1)[0] > 0, "no rows were swapped");
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  CHECK(cudaFree(swaps));

  a = device_copy(positive), b = device_copy(times_x(positive));
  solve_cholesky<<<1, threads>>>(a, b);
  launched();
  require_close(host_copy(b, n), x, 1e-10);
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));

  a = device_copy(tall), b = device_copy(times_x(tall));
  solve_qr<<<1, threads>>>(a, b, rows);
  launched();
  require_close(host_copy(b, n), x, 1e-10);
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  return ok("%d unknowns, three ways", n);
}
