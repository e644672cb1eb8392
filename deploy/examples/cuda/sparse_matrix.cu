// SPDX-License-Identifier: Apache-2.0
// Sparse matrix times vector: compressed rows by a thread and by a warp, ELLPACK, and coordinates.
#include "check.h"

__global__ void csr_by_thread(int rows, const int *starts, const int *columns, const double *values,
    const double *x, double *y) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) {
    double sum = 0;
    for (int i = starts[row]; i < starts[row + 1]; i++) sum += values[i] * x[columns[i]];
    y[row] = sum;
  }
}

__global__ void csr_by_warp(int rows, const int *starts, const int *columns, const double *values,
    const double *x, double *y) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row < rows) {
    double sum = 0;
    for (int i = starts[row] + lane; i < starts[row + 1]; i += 32) {
      sum += __ldg(values + i) * x[__ldg(columns + i)];
    }
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);
    if (lane == 0) y[row] = sum;
  }
}

// Rows padded to one width, element by element of all rows, so that neighbours read neighbours.
__global__ void ellpack(int rows, int width, const int *columns, const double *values,
    const double *x, double *y) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) {
    double sum = 0;
    for (int i = 0; i < width; i++) {
      int column = columns[i * rows + row];
      if (column >= 0) sum += values[i * rows + row] * x[column];
    }
    y[row] = sum;
  }
}

__global__ void coordinates(int count, const int *rows, const int *columns, const double *values,
    const double *x, double *y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    atomicAdd(y + rows[i], values[i] * x[columns[i]]);
  }
}

int main() {
  const int rows = 3001, width = 48;
  Numbers numbers(34);
  std::vector<int> starts{0}, columns, row_of, ell_columns(rows * width, -1);
  std::vector<double> values, ell_values(rows * width), x(rows), expected(rows);
  for (double &value : x) value = numbers.unit() - 0.5;
  for (int row = 0; row < rows; row++) {
    // Rows of very different lengths, some empty.
    int length = row % 7 == 0 ? 0 : int(numbers.next() % (row % 5 == 0 ? width : 9));
    for (int i = 0; i < length; i++) {
      int column = int(numbers.next() % rows);
      double value = numbers.unit() * 4 - 2;
      ell_columns[i * rows + row] = column;
      ell_values[i * rows + row] = value;
      columns.push_back(column);
      values.push_back(value);
      row_of.push_back(row);
      expected[row] += value * x[column];
    }
    starts.push_back(int(columns.size()));
  }
  int count = int(columns.size());
  int *d_starts = device_copy(starts), *d_columns = device_copy(columns);
  int *d_rows = device_copy(row_of), *d_ell_columns = device_copy(ell_columns);
  double *d_values = device_copy(values), *d_ell_values = device_copy(ell_values);
  double *d_x = device_copy(x), *y;
  CHECK(cudaMalloc(&y, rows * sizeof(double)));
  for (int kind = 0; kind < 4; kind++) {
    CHECK(cudaMemset(y, kind == 3 ? 0 : 0xff, rows * sizeof(double)));
    int blocks = (rows + 127) / 128;
    if (kind == 0) csr_by_thread<<<blocks, 128>>>(rows, d_starts, d_columns, d_values, d_x, y);
    if (kind == 1) {
      csr_by_warp<<<(rows * 32 + 127) / 128, 128>>>(rows, d_starts, d_columns, d_values, d_x, y);
    }
    if (kind == 2) ellpack<<<blocks, 128>>>(rows, width, d_ell_columns, d_ell_values, d_x, y);
    if (kind == 3) coordinates<<<9, 256>>>(count, d_rows, d_columns, d_values, d_x, y);
    launched();
    require_close(host_copy(y, rows), expected, 1e-13);
  }
  for (void *memory : {static_cast<void *>(d_starts), static_cast<void *>(d_columns),
           static_cast<void *>(d_rows), static_cast<void *>(d_ell_columns),
           static_cast<void *>(d_values), static_cast<void *>(d_ell_values),
           static_cast<void *>(d_x), static_cast<void *>(y)}) {
    CHECK(cudaFree(memory));
  }
  return ok("%d rows, %d elements, four layouts", rows, count);
}
