// SPDX-License-Identifier: Apache-2.0
// Sums in double precision: pairwise the same in every run, compensated ones, norms, moments and atomic maxima.
#include "check.h"

const int threads = 128, blocks = 10;

// A tree of fixed shape: the CPU gets the same bits.
__global__ void pairwise(const double *values, int count, double *out) {
  __shared__ double partial[threads];
  int i = blockIdx.x * threads + threadIdx.x;
  partial[threadIdx.x] = i < count ? values[i] : 0;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}

// The exact sum of two numbers is the rounded one and its error.
__host__ __device__ inline void add_exactly(double &sum, double &error, double value) {
  double next = sum + value, virtually = next - sum;
  error += (sum - (next - virtually)) + (value - virtually);
  sum = next;
}

__global__ void compensated(const double *values, int count, double2 *out) {
  __shared__ double2 partial[threads];
  double sum = 0, error = 0;
  for (int i = blockIdx.x * threads + threadIdx.x; i < count; i += blocks * threads) {
    add_exactly(sum, error, values[i]);
  }
  partial[threadIdx.x] = make_double2(sum, error);
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      double2 mine = partial[threadIdx.x], other = partial[threadIdx.x + half];
      add_exactly(mine.x, mine.y, other.x);
      mine.y += other.y;
      partial[threadIdx.x] = mine;
    }
  }
  if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}

struct Moments {
  double count, mean, squares;
};

// Two parts' moments make the whole's (Chan, Golub and LeVeque).
__host__ __device__ inline Moments merge(Moments a, Moments b) {
  double count = a.count + b.count, delta = b.mean - a.mean;
  if (count == 0) return a;
  return {count, a.mean + delta * b.count / count,
      a.squares + b.squares + delta * delta * a.count * b.count / count};
}

__global__ void moments(const double *values, int count, Moments *out) {
  Moments own = {0, 0, 0};
  for (int i = threadIdx.x; i < count; i += 32) own = merge(own, Moments{1, values[i], 0});
  for (int offset = 16; offset > 0; offset /= 2) {
    Moments other = {__shfl_down_sync(0xffffffff, own.count, offset),
        __shfl_down_sync(0xffffffff, own.mean, offset),
        __shfl_down_sync(0xffffffff, own.squares, offset)};
    own = merge(own, other);
  }
  if (threadIdx.x == 0) *out = own;
}

// CUDA has no atomic maximum of doubles: compare and swap of their bits.
__device__ void atomic_max(double *to, double value) {
  auto *bits = reinterpret_cast<unsigned long long *>(to);
  unsigned long long old = *bits;
  while (__longlong_as_double(old) < value) {
    unsigned long long seen = atomicCAS(bits, old, __double_as_longlong(value));
    if (seen == old) return;
    old = seen;
  }
}

__global__ void norms(const double *values, int count, double *out) {
  for (int i = blockIdx.x * threads + threadIdx.x; i < count; i += blocks * threads) {
    atomicAdd(&out[0], fabs(values[i]));
    atomic_max(&out[1], fabs(values[i]));
  }
}

int main() {
  const int count = threads * blocks - 77;
  Numbers numbers(52);
  std::vector<double> values(count), small(count);
  for (int i = 0; i < count; i++) {
    // Great numbers that cancel, with small ones in between.
    double great = std::ldexp(numbers.unit() + 0.5, 60);
    values[i] = i % 3 == 0 ? great : i % 3 == 1 ? -values[i - 1] : numbers.unit();
    small[i] = numbers.unit() * 10 - 3;
  }
  double *device = device_copy(values), *device_small = device_copy(small), *sums;
  double2 *pairs;
  Moments *whole;
  CHECK(cudaMalloc(&sums, blocks * sizeof(double)));
  CHECK(cudaMalloc(&pairs, blocks * sizeof(double2)));
  CHECK(cudaMalloc(&whole, sizeof(Moments)));
  pairwise<<<blocks, threads>>>(device, count, sums);
  compensated<<<blocks, threads>>>(device, count, pairs);
  moments<<<1, 32>>>(device_small, count, whole);
  launched();
  for (int block = 0; block < blocks; block++) {
    std::vector<double> part(threads);
    for (int i = 0; i < threads; i++) {
      part[i] = block * threads + i < count ? values[block * threads + i] : 0;
    }
    for (int half = threads / 2; half > 0; half /= 2) {
      for (int i = 0; i < half; i++) part[i] += part[i + half];
    }
    double actual = host_copy(sums, blocks)[block];
    REQUIRE(actual == part[0], "the sum of block %d is %.17g, not %.17g", block, actual, part[0]);
  }
  double sum = 0, error = 0, exact = 0;
  for (double2 part : host_copy(pairs, blocks)) {
    add_exactly(sum, error, part.x);
    error += part.y;
  }
  for (int i = 2; i < count; i += 3) exact += values[i];
  if (count % 3 == 1) exact += values[count - 1];
  REQUIRE(std::fabs(sum + error - exact) < 1e-9 * std::fabs(exact), "the sum is %.17g, not %.17g",
      sum + error, exact);

  Moments actual = host_copy(whole, 1)[0];
  long double mean = 0, squares = 0, absolute = 0, most = 0;
  for (double value : small) mean += value / count;
  for (double value : small) {
    squares += (value - mean) * (value - mean);
    absolute += std::fabs(value);
    most = std::fmax(double(most), std::fabs(value));
  }
  REQUIRE(actual.count == count && std::fabs(actual.mean - double(mean)) < 1e-13 &&
          std::fabs(actual.squares - double(squares)) < 1e-10,
      "%g values of mean %.17g and squares %.17g", actual.count, actual.mean, actual.squares);
  CHECK(cudaMemset(sums, 0, 2 * sizeof(double)));
  norms<<<blocks, threads>>>(device_small, count, sums);
  launched();
  std::vector<double> found = host_copy(sums, 2);
  REQUIRE(std::fabs(found[0] - double(absolute)) < 1e-9 && found[1] == double(most),
      "norms %.17g and %.17g, not %.17Lg and %.17Lg", found[0], found[1], absolute, most);
  CHECK(cudaFree(device));
  CHECK(cudaFree(device_small));
  CHECK(cudaFree(sums));
  CHECK(cudaFree(pairs));
  CHECK(cudaFree(whole));
  return ok("%d values, sum %.12g", count, exact);
}
