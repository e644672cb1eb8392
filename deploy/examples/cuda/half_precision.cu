// SPDX-License-Identifier: Apache-2.0
// Half precision and bfloat16, single and in pairs: each operation rounds once (a division to a neighbour).
// nvcc: -gencode arch=compute_80,code=compute_80
#include <algorithm>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "check.h"

const int operations = 11;
const char *const names[operations] = {
    "add", "subtract", "multiply", "divide", "fma", "minimum", "maximum", "negate", "root", "less", "relu fma"};

template <typename T, typename Pair>
__global__ void compute(const T *a, const T *b, const T *c, int count, T *out) {
#if __CUDA_ARCH__ >= 800
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  T x = a[i], y = b[i], z = c[i];
  T results[operations] = {x + y, x - y, x * y, x / y, __hfma(x, y, z), __hmin(x, y), __hmax(x, y),
      -x, hsqrt(__habs(x)), x < y ? T(1.0f) : T(0.0f), __hfma_relu(x, y, z)};
  for (int k = 0; k < operations; k++) out[k * count + i] = results[k];
#endif
}

// The same by pairs; two results of each thread.
template <typename T, typename Pair>
__global__ void compute_pairs(const Pair *a, const Pair *b, const Pair *c, int pairs, Pair *out) {
#if __CUDA_ARCH__ >= 800
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pairs) return;
  Pair x = a[i], y = b[i], z = c[i];
  Pair results[operations] = {__hadd2(x, y), __hsub2(x, y), __hmul2(x, y), __h2div(x, y),
      __hfma2(x, y, z), __hmin2(x, y), __hmax2(x, y), __hneg2(x), h2sqrt(__habs2(x)), __hlt2(x, y),
      __hfma2_relu(x, y, z)};
  for (int k = 0; k < operations; k++) out[k * pairs + i] = results[k];
#endif
}

template <typename T, typename Pair>
__global__ void add_atomically(T *single, Pair *pair) {
  atomicAdd(single, T(0.5f));
  atomicAdd(pair, Pair{T(1.0f), T(-2.0f)});
}

static double exact(int operation, double x, double y, double z) {
  switch (operation) {
    case 0: return x + y;
    case 1: return x - y;
    case 2: return x * y;
    case 3: return x / y;
    case 4: return std::fma(x, y, z);
    case 5: return std::fmin(x, y);
    case 6: return std::fmax(x, y);
    case 7: return -x;
    case 8: return std::sqrt(std::fabs(x));
    case 9: return x < y;
    // A NaN stays one.
    default: return std::fma(x, y, z) < 0 ? 0 : std::fma(x, y, z);
  }
}

// To the nearest of a format's numbers, halves to even; `bits` of fraction, `least` the least normal exponent.
static double rounded(double value, int bits, int least, double largest) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = std::max(std::ilogb(value), least);
  double unit = std::ldexp(1.0, exponent - bits), result = std::nearbyint(value / unit) * unit;
  return std::fabs(result) > largest ? std::copysign(INFINITY, value) : result;
}

template <typename T, typename Pair>
static void test(const char *format, float (*widen)(T), T (*narrow)(float), int bits, int least,
    double largest, double scale) {
  const int count = 2000;
  Numbers numbers(45);
  std::vector<T> operands[3];
  for (auto &list : operands) {
    for (int i = 0; i < count; i++) {
      float value = std::ldexp(numbers.unit() - 0.5f, int(numbers.next() % 24) - 12);
      list.push_back(narrow(i % 50 == 0 ? float(scale) * value : value == 0 ? 1 : value));
    }
  }
  T *a = device_copy(operands[0]), *b = device_copy(operands[1]), *c = device_copy(operands[2]), *out;
  CHECK(cudaMalloc(&out, operations * count * sizeof(T)));
  for (bool pairs : {false, true}) {
    if (pairs) {
      auto pair = [](T *memory) { return reinterpret_cast<Pair *>(memory); };
      compute_pairs<T, Pair><<<count / 2 / 100, 100>>>(pair(a), pair(b), pair(c), count / 2, pair(out));
    } else {
      compute<T, Pair><<<count / 100, 100>>>(a, b, c, count, out);
    }
    launched();
    std::vector<T> actual = host_copy(out, operations * count);
    for (int k = 0; k < operations; k++) {
      for (int i = 0; i < count; i++) {
        double x = widen(operands[0][i]), y = widen(operands[1][i]), z = widen(operands[2][i]);
        double expected = rounded(exact(k, x, y, z), bits, least, largest);
        double got = widen(actual[k * count + i]);
        double unit = std::ldexp(1.0, std::max(std::ilogb(expected), least) - bits);
        bool same = got == expected || (std::isnan(got) && std::isnan(expected));
        REQUIRE(same || std::fabs(got - expected) <= (k == 3 ? unit : 0),
            "%s%s: %s of %.9g, %.9g, %.9g is %.9g, not %.9g", format, pairs ? " pairs" : "",
            names[k], x, y, z, got, expected);
      }
    }
  }
  T *single = device_copy(std::vector<T>{narrow(0)});
  Pair *pair = reinterpret_cast<Pair *>(device_copy(std::vector<T>{narrow(0), narrow(0)}));
  add_atomically<<<2, 32>>>(single, pair);
  launched();
  std::vector<T> sums = host_copy(reinterpret_cast<T *>(pair), 2);
  REQUIRE(widen(host_copy(single, 1)[0]) == 32 && widen(sums[0]) == 64 && widen(sums[1]) == -128,
      "%s: atomic sums are %g, %g, %g", format, widen(host_copy(single, 1)[0]), widen(sums[0]),
      widen(sums[1]));
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  CHECK(cudaFree(c));
  CHECK(cudaFree(out));
  CHECK(cudaFree(single));
  CHECK(cudaFree(pair));
}

int main() {
  test<__half, __half2>("half", __half2float, __float2half, 10, -14, 65504, 4096);
  test<__nv_bfloat16, __nv_bfloat162>(
      "bfloat16", __bfloat162float, __float2bfloat16, 7, -126, 3.3895313892515355e38, 1e30);
  return ok("%d operations on two formats, single and in pairs", operations);
}
