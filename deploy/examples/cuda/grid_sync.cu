// SPDX-License-Identifier: Apache-2.0
// A cooperative launch whose blocks wait for each other: conjugate gradients for a Laplacian, in one kernel.
// nvcc: -std=c++17
#include <cooperative_groups.h>

#include "check.h"

namespace cg = cooperative_groups;

__device__ double dot_sum[2];

__device__ double apply(const double *x, int i, int n) {
  double left = i > 0 ? x[i - 1] : 0, right = i + 1 < n ? x[i + 1] : 0;
  return 2.5 * x[i] - left - right;
}

__device__ void add_dot(double part, double *sum) {
  __shared__ double block_sum;
  cg::thread_block block = cg::this_thread_block();
  if (block.thread_rank() == 0) block_sum = 0;
  block.sync();
  atomicAdd(&block_sum, part);
  block.sync();
  if (block.thread_rank() == 0) atomicAdd(sum, block_sum);
}

__global__ void solve(double *x, double *r, double *p, double *q, int n, int *steps) {
  cg::grid_group grid = cg::this_grid();
  int first = grid.thread_rank(), stride = grid.size();
  if (!grid.is_valid()) return;
  double part = 0;
  for (int i = first; i < n; i += stride) part += r[i] * r[i];
  add_dot(part, &dot_sum[0]);
  grid.sync();
  double rr = dot_sum[0];
  int step = 0;
  for (; step < n && rr > 1e-20; step++) {
    part = 0;
    for (int i = first; i < n; i += stride) {
      q[i] = apply(p, i, n);
      part += p[i] * q[i];
    }
    add_dot(part, &dot_sum[1]);
    grid.sync();
    double alpha = rr / dot_sum[1];
    if (first == 0) dot_sum[0] = 0;
    grid.sync();
    part = 0;
    for (int i = first; i < n; i += stride) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
      part += r[i] * r[i];
    }
    add_dot(part, &dot_sum[0]);
    grid.sync();
    double next = dot_sum[0], beta = next / rr;
    if (first == 0) dot_sum[1] = 0;
    for (int i = first; i < n; i += stride) p[i] = r[i] + beta * p[i];
    rr = next;
    grid.sync();
  }
  if (first == 0) *steps = step;
}

int main() {
  const int n = 1500, threads = 64;
  int cooperative = 0, per_processor = 0;
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  CHECK(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, 0));
  REQUIRE(cooperative, "the device has no cooperative launch");
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, solve, threads, 0));
  int most = per_processor * properties.multiProcessorCount;
  int blocks = most < 12 ? most : 12;

  Numbers numbers(5);
  std::vector<double> wanted(n), b(n), zero(n, 0);
  for (double &value : wanted) value = numbers.unit() - 0.5;
  for (int i = 0; i < n; i++) {
    b[i] = 2.5 * wanted[i] - (i > 0 ? wanted[i - 1] : 0) - (i + 1 < n ? wanted[i + 1] : 0);
  }
  double *x = device_copy(zero), *r = device_copy(b), *p = device_copy(b), *q = device_copy(zero);
  int *steps, length = n;
  CHECK(cudaMalloc(&steps, sizeof(int)));
  void *arguments[] = {&x, &r, &p, &q, &length, &steps};
  CHECK(cudaLaunchCooperativeKernel(
      reinterpret_cast<void *>(solve), dim3(blocks), dim3(threads), arguments, 0, nullptr));
  require_close(host_copy(x, n), wanted, 1e-8);
  int taken = host_copy(steps, 1)[0];
  REQUIRE(taken > 5 && taken < 200, "%d steps were taken", taken);

  CHECK(cudaFree(x));
  CHECK(cudaFree(r));
  CHECK(cudaFree(p));
  CHECK(cudaFree(q));
  CHECK(cudaFree(steps));
  return ok("%d blocks, %d steps", blocks, taken);
}
