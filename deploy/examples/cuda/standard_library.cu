// SPDX-License-Identifier: Apache-2.0
// libcu++'s standard library on host and device alike: tuples, variants, complex numbers, spans, time, limits.
// nvcc: -std=c++17
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/chrono>
#include <cuda/std/cmath>
#include <cuda/std/complex>
#include <cuda/std/functional>
#include <cuda/std/limits>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/utility>
#include <cuda/std/variant>

#include "check.h"

namespace cs = cuda::std;

__host__ __device__ inline cs::optional<int> root_of(int square) {
  for (int i = 0; i * i <= square; i++) {
    if (i * i == square) return i;
  }
  return cs::nullopt;
}

__host__ __device__ inline cs::tuple<int, double, bool> split(double value) {
  int whole = int(value);
  return cs::make_tuple(whole, value - whole, whole % 2 == 0);
}

struct Visitor {
  __host__ __device__ double operator()(int i) const { return 2.0 * i; }
  __host__ __device__ double operator()(double d) const { return d / 4; }
};

__host__ __device__ inline double sum_of(cs::span<const double> values) {
  double sum = 0;
  for (double value : values.subspan(1, values.size() - 2)) sum += value;
  return sum;
}

// One number made of everything, the same on both sides.
__host__ __device__ inline double everything(int i) {
  double result = root_of(i).value_or(-1);
  auto [whole, fraction, even] = split(i * 0.75);
  result += whole + fraction * 8 + (even ? 100 : 0);
  cs::variant<int, double> either = i;
  if (i % 3 == 0) either = i * 0.5;
  result += cs::visit(Visitor(), either);
  cs::complex<double> z(i * 0.25, 1 - i);
  z = z * z + cs::complex<double>(0.5, -2);
  result += z.real() - 3 * z.imag();
  cs::array<double, 5> values = {1.0 * i, 2.0, 3.5, i * 0.125, 9.0};
  result += sum_of(values) + values.at(i % 5);
  result += cs::popcount(unsigned(i)) + cs::countl_zero(unsigned(i + 1)) + cs::rotl(unsigned(i), 3);
  cs::chrono::seconds time = cs::chrono::minutes(i) + cs::chrono::seconds(7);
  result += double(cs::chrono::duration_cast<cs::chrono::milliseconds>(time).count());
  cs::pair<int, int> both(i, -i);
  cs::swap(both.first, both.second);
  result += both.first * 3 + cs::plus<int>()(both.second, 1);
  return result + (cs::numeric_limits<float>::max() > 1e38f ? cs::numeric_limits<int>::digits : 0);
}

__global__ void compute(double *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = everything(i);
}

int main() {
  const int count = 500;
  std::vector<double> expected(count);
  for (int i = 0; i < count; i++) expected[i] = everything(i);
  double *out;
  CHECK(cudaMalloc(&out, count * sizeof(double)));
  compute<<<(count + 63) / 64, 64>>>(out, count);
  launched();
  require_close(host_copy(out, count), expected, 1e-12);
  CHECK(cudaFree(out));
  return ok("%d values", count);
}
