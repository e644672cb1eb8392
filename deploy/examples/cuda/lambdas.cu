// SPDX-License-Identifier: Apache-2.0
// Functions without a name given to kernels: with captures, from templates, for host and device, and folded packs.
// nvcc: --extended-lambda --expt-relaxed-constexpr
#include "check.h"

template <typename Function>
__global__ void for_each(int count, Function function) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) function(i);
}

template <typename In, typename Map, typename Combine, typename Out>
__global__ void map_reduce(const In *in, int count, Map map, Combine combine, Out start, Out *out) {
  __shared__ Out partial[64];
  Out own = start;
  for (int i = threadIdx.x; i < count; i += 64) own = combine(own, map(in[i]));
  partial[threadIdx.x] = own;
  for (int half = 32; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      partial[threadIdx.x] = combine(partial[threadIdx.x], partial[threadIdx.x + half]);
    }
  }
  if (threadIdx.x == 0) *out = partial[0];
}

template <typename... Functions>
struct Chain;

template <>
struct Chain<> {
  template <typename T>
  __host__ __device__ T operator()(T value) const {
    return value;
  }
};

template <typename First, typename... Rest>
struct Chain<First, Rest...> {
  First first;
  Chain<Rest...> rest;

  template <typename T>
  __host__ __device__ auto operator()(T value) const {
    return rest(first(value));
  }
};

template <typename... T>
__global__ void add_all(double *out, T... values) {
  *out = (double(values) + ...);
}

struct Captured {
  int a;
  double b;
  char c[5];
};

// A generic function object: an extended lambda must not be generic.
struct Half {
  template <typename T>
  __host__ __device__ T operator()(T x) const {
    return x / 2;
  }
};

constexpr int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

int main() {
  const int count = 5000;
  std::vector<int> values(count);
  Numbers numbers(51);
  for (int &value : values) value = int(numbers.next() % 200) - 100;
  int *in = device_copy(values), *out;
  CHECK(cudaMalloc(&out, count * sizeof(int)));
  Captured captured = {3, 0.5, {1, 2, 3, 4, 5}};
  int offset = 17;
  for_each<<<7, 64>>>(count, [=] __device__(int i) {
    out[i] = in[i] * captured.a + int(i * captured.b) + captured.c[i % 5] + offset + fibonacci(10);
  });
  launched();
  std::vector<int> expected(count);
  for (int i = 0; i < count; i++) {
    expected[i] = values[i] * 3 + i / 2 + i % 5 + 1 + 17 + 55;
  }
  require_equal(host_copy(out, count), expected);

  double *result;
  CHECK(cudaMalloc(&result, sizeof(double)));
  auto square = [] __host__ __device__(int x) { return double(x) * x; };
  map_reduce<<<1, 64>>>(in, count, square, [] __device__(double a, double b) { return a + b; }, 0.0, result);
  launched();
  double sum = 0, most = 0;
  for (int value : values) {
    sum += square(value);
    most = std::fmax(most, std::fabs(value));
  }
  REQUIRE(host_copy(result, 1)[0] == sum, "the sum is %g, not %g", host_copy(result, 1)[0], sum);
  map_reduce<<<1, 64>>>(in, count, [] __device__(int x) { return fabs(double(x)); },
      [] __device__(double a, double b) { return fmax(a, b); }, 0.0, result);
  launched();
  REQUIRE(host_copy(result, 1)[0] == most, "the most is %g, not %g", host_copy(result, 1)[0], most);

  auto plus_one = [] __host__ __device__(float x) { return x + 1; };
  auto floats = [] __host__ __device__(int x) { return x * 0.75f; };
  Chain<Half, decltype(floats), decltype(plus_one), Half> chain{{}, {floats, {plus_one, {{}, {}}}}};
  float *mapped = reinterpret_cast<float *>(out);
  for_each<<<7, 64>>>(count, [=] __device__(int i) { mapped[i] = chain(in[i]); });
  launched();
  std::vector<float> chained(count);
  for (int i = 0; i < count; i++) chained[i] = chain(values[i]);
  require_equal(host_copy(mapped, count), chained);

  add_all<<<1, 1>>>(result, 1, 2.5, 3.25f, static_cast<char>(4), 5ull, static_cast<short>(-6));
  launched();
  REQUIRE(host_copy(result, 1)[0] == 9.75, "the pack adds up to %g", host_copy(result, 1)[0]);
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
  CHECK(cudaFree(result));
  return ok("%d elements", count);
}
