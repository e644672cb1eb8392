// SPDX-License-Identifier: Apache-2.0
// Templates, functors and functions not inlined, over integers, float and double.
#include "check.h"

template <typename T>
struct Polynomial {
  T a, b, c;

  __host__ __device__ T operator()(T x) const { return (a * x + b) * x + c; }
};

struct Collatz {
  __host__ __device__ long long operator()(long long start) const {
    long long value = start, steps = 0;
    while (value != 1 && steps < 1000) {
      value = value % 2 == 0 ? value / 2 : 3 * value + 1;
      steps++;
    }
    return steps;
  }
};

// A square root by Newton; not inlined, so that the kernel calls it.
template <typename T>
__host__ __device__ __noinline__ T newton_root(T value) {
  T guess = value > 1 ? value / 2 : T(1);
  for (int i = 0; i < 40; i++) {
    guess = (guess + value / guess) / 2;
  }
  return guess;
}

struct Root {
  __host__ __device__ double operator()(double value) const { return newton_root(value); }
};

template <typename T, typename F>
__global__ void apply(T *values, int count, F function) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    values[i] = function(values[i]);
  }
}

template <typename T, typename F>
static void run(const char *name, std::vector<T> values, F function, double relative) {
  std::vector<T> expected;
  for (T value : values) {
    expected.push_back(function(value));
  }
  T *device = device_copy(values);
  apply<<<5, 96>>>(device, static_cast<int>(values.size()), function);
  launched();
  std::vector<T> actual = host_copy(device, values.size());
  for (size_t i = 0; i < values.size(); i++) {
    double difference = std::fabs(double(actual[i]) - double(expected[i]));
    REQUIRE(difference <= relative * std::fabs(double(expected[i])), "%s of %.17g is %.17g, not %.17g",
        name, double(values[i]), double(actual[i]), double(expected[i]));
  }
  CHECK(cudaFree(device));
}

int main() {
  const int count = 4000;
  std::vector<double> doubles;
  std::vector<float> floats;
  std::vector<long long> longs;
  std::vector<int> integers;
  for (int i = 1; i <= count; i++) {
    doubles.push_back(i * 0.37);
    floats.push_back(i * 0.5f);
    longs.push_back(i);
    integers.push_back(i - 2000);
  }
  run("a double polynomial", doubles, Polynomial<double>{1.5, -2.5, 3.25}, 1e-14);
  run("a float polynomial", floats, Polynomial<float>{1.5f, -2.5f, 3.25f}, 1e-6);
  run("an integer polynomial", integers, Polynomial<int>{3, -7, 11}, 0);
  run("Collatz", longs, Collatz(), 0);
  run("a root", doubles, Root(), 0);
  return ok("%d elements of four types", count);
}
