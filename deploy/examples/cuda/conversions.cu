// SPDX-License-Identifier: Apache-2.0
// Conversions between integers, float and double in every rounding, with saturation and NaN.
#include <cfenv>
#include <limits>

#include "check.h"

constexpr int RESULTS = 18;

__global__ void convert(const double *values, long long *results, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) {
    return;
  }
  double d = values[i];
  float f = static_cast<float>(d);
  long long *r = results + i * RESULTS;
  r[0] = __double2int_rn(d);
  r[1] = __double2int_rz(d);
  r[2] = __double2int_ru(d);
  r[3] = __double2int_rd(d);
  r[4] = __float2int_rn(f);
  r[5] = __float2int_rd(f);
  r[6] = __double2uint_rz(d);
  r[7] = __double2ll_rn(d);
  r[8] = static_cast<long long>(__double2ull_rz(d));
  r[9] = __float_as_int(__double2float_rn(d));
  r[10] = __float_as_int(__double2float_ru(d));
  r[11] = __float_as_int(__double2float_rz(d));
  r[12] = static_cast<signed char>(i * 37);
  r[13] = static_cast<unsigned short>(i * 7919);
  r[14] = __float_as_int(__int2float_rz(i * 1234567 + 16777217));
  r[15] = __double_as_longlong(__ll2double_rd(i * 0x123456789abcdLL));
  r[16] = __float_as_int(__fmaf_rn(f, 1.1f, -f));
  r[17] = __double_as_longlong(__dadd_ru(d, 1e-3));
}

// The rule of PTX for cvt: NaN becomes 0 where neither side is 64 bits wide, else the highest bit alone.
template <typename I, typename F>
static long long saturated(F d, int mode) {
  if (std::isnan(d)) {
    bool narrow = sizeof(I) < 8 && sizeof(F) < 8;
    return narrow ? 0 : static_cast<long long>(static_cast<I>(1ULL << (sizeof(I) * 8 - 1)));
  }
  std::fesetround(mode);
  volatile double input = d;
  volatile double rounded = std::nearbyint(input);
  std::fesetround(FE_TONEAREST);
  if (rounded <= static_cast<double>(std::numeric_limits<I>::min())) {
    return static_cast<long long>(std::numeric_limits<I>::min());
  }
  if (rounded >= static_cast<double>(std::numeric_limits<I>::max())) {
    return static_cast<long long>(std::numeric_limits<I>::max());
  }
  return static_cast<long long>(static_cast<I>(rounded));
}

template <typename T, typename B, typename F>
static long long bits_in(int mode, F compute) {
  std::fesetround(mode);
  volatile T value = compute();
  std::fesetround(FE_TONEAREST);
  T copy = value;
  B bits;
  std::memcpy(&bits, &copy, sizeof bits);
  return bits;
}

int main() {
  std::vector<double> values = {0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 1e9 + 0.5, 3e9, -3e9, 5e9, 1e18, 1e19,
      -1e19, 1e30, 0.1, -0.1, 1.0 / 3, 123456.789, -987654.321, 4294967295.0, 2147483647.5, 1e-40,
      std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
      std::numeric_limits<double>::quiet_NaN()};
  Numbers numbers(11);
  while (values.size() < 500) {
    values.push_back((numbers.unit() - 0.5) * std::pow(2.0, numbers.next() % 70));
  }
  int count = static_cast<int>(values.size());
  double *device_values = device_copy(values);
  long long *results;
  CHECK(cudaMalloc(&results, count * RESULTS * sizeof(long long)));
  convert<<<(count + 63) / 64, 64>>>(device_values, results, count);
  launched();
  std::vector<long long> actual = host_copy(results, count * RESULTS);
  for (int i = 0; i < count; i++) {
    double d = values[i];
    // Read anew for each rounding mode, which the compiler knows nothing of.
    volatile double inexact = d;
    float f = static_cast<float>(d);
    bool number = !std::isnan(values[i]);
    long long expected[RESULTS] = {
        saturated<int>(d, FE_TONEAREST), saturated<int>(d, FE_TOWARDZERO),
        saturated<int>(d, FE_UPWARD), saturated<int>(d, FE_DOWNWARD),
        saturated<int>(f, FE_TONEAREST), saturated<int>(f, FE_DOWNWARD),
        saturated<unsigned>(d, FE_TOWARDZERO), saturated<long long>(d, FE_TONEAREST),
        saturated<unsigned long long>(d, FE_TOWARDZERO),
        bits_in<float, int>(FE_TONEAREST, [&] { return static_cast<float>(inexact); }),
        bits_in<float, int>(FE_UPWARD, [&] { return static_cast<float>(inexact); }),
        bits_in<float, int>(FE_TOWARDZERO, [&] { return static_cast<float>(inexact); }),
        static_cast<signed char>(i * 37), static_cast<unsigned short>(i * 7919),
        bits_in<float, int>(FE_TOWARDZERO, [&] {
          volatile int integer = i * 1234567 + 16777217;
          return static_cast<float>(integer);
        }),
        bits_in<double, long long>(FE_DOWNWARD, [&] {
          volatile long long integer = i * 0x123456789abcdLL;
          return static_cast<double>(integer);
        }),
        bits_in<float, int>(FE_TONEAREST, [&] { return std::fma(f, 1.1f, -f); }),
        bits_in<double, long long>(FE_UPWARD, [&] { return inexact + 1e-3; })};
    for (int k = 0; k < RESULTS; k++) {
      bool floating = (k >= 9 && k <= 11) || k >= 16;
      if (floating && !number) {
        continue;  // the bits of a NaN are the device's own
      }
      if (k == 16 && std::isinf(f)) {
        continue;
      }
      REQUIRE(actual[i * RESULTS + k] == expected[k], "result %d of %.17g is %llx, not %llx", k,
          values[i], actual[i * RESULTS + k], expected[k]);
    }
  }
  CHECK(cudaFree(device_values));
  CHECK(cudaFree(results));
  return ok("%d conversions of %d values", RESULTS, count);
}
