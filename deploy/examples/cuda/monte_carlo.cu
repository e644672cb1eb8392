// SPDX-License-Identifier: Apache-2.0
// Monte Carlo with a counter-based generator, Philox 4x32-10: its published test values, pi, and an option's price.
#include "check.h"

struct Philox {
  uint32_t key[2];

  // Ten rounds of two wide multiplications each; every counter gives four numbers.
  __host__ __device__ uint4 operator()(uint4 c) const {
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
      uint64_t a = uint64_t(0xD2511F53u) * c.x, b = uint64_t(0xCD9E8D57u) * c.z;
      c = uint4{uint32_t(b >> 32) ^ c.y ^ k0, uint32_t(b), uint32_t(a >> 32) ^ c.w ^ k1, uint32_t(a)};
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    return c;
  }
};

__global__ void numbers(Philox generator, const uint4 *counters, uint4 *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = generator(counters[i]);
}

__host__ __device__ inline bool inside(uint32_t x, uint32_t y) {
  uint64_t a = x >> 1, b = y >> 1;
  return a * a + b * b < 1ull << 62;
}

__global__ void count_inside(Philox generator, uint32_t counters, unsigned long long *total) {
  unsigned mine = 0;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < counters; i += gridDim.x * blockDim.x) {
    uint4 n = generator(make_uint4(i, 0, 0, 0));
    mine += inside(n.x, n.y) + inside(n.z, n.w);
  }
  for (int offset = 16; offset > 0; offset /= 2) mine += __shfl_down_sync(0xffffffff, mine, offset);
  if (threadIdx.x % 32 == 0) atomicAdd(total, static_cast<unsigned long long>(mine));
}

struct Option {
  double spot, strike, rate, volatility, years;
};

// A European call: the mean of what it pays, discounted, over normal paths by Box and Muller.
__global__ void price(Philox generator, uint32_t counters, Option option, double *sum) {
  double mine = 0;
  double drift = (option.rate - option.volatility * option.volatility / 2) * option.years;
  double spread = option.volatility * sqrt(option.years);
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < counters; i += gridDim.x * blockDim.x) {
    uint4 n = generator(make_uint4(i, 1, 0, 0));
    float radius = sqrtf(-2 * logf((n.x + 0.5f) * 2.3283064e-10f));
    float s, c;
    sincospif((n.y + 0.5f) * 4.6566129e-10f, &s, &c);
    mine += fmax(option.spot * exp(drift + spread * radius * s) - option.strike, 0.0);
    mine += fmax(option.spot * exp(drift + spread * radius * c) - option.strike, 0.0);
  }
  for (int offset = 16; offset > 0; offset /= 2) mine += __shfl_down_sync(0xffffffff, mine, offset);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, mine);
}

static void test_values() {
  const uint32_t zero = 0, ones = 0xffffffff;
  const struct {
    Philox generator;
    uint4 counter, expected;
  } known[] = {{{{zero, zero}}, {zero, zero, zero, zero},
                   {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{{ones, ones}}, {ones, ones, ones, ones}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{{0xa4093822, 0x299f31d0}}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
          {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  for (const auto &test : known) {
    uint4 *counter = device_copy(std::vector<uint4>{test.counter}), *out;
    CHECK(cudaMalloc(&out, sizeof(uint4)));
    numbers<<<1, 1>>>(test.generator, counter, out, 1);
    launched();
    uint4 actual = host_copy(out, 1)[0];
    REQUIRE(std::memcmp(&actual, &test.expected, sizeof actual) == 0, "%08x %08x %08x %08x",
        actual.x, actual.y, actual.z, actual.w);
    CHECK(cudaFree(counter));
    CHECK(cudaFree(out));
  }
}

int main() {
  test_values();
  const uint32_t counters = 100000;
  Philox generator{{2026, 7}};
  auto *total = device_copy(std::vector<unsigned long long>{0});
  double *sum = device_copy(std::vector<double>{0});
  count_inside<<<16, 128>>>(generator, counters, total);
  unsigned long long expected = 0;
  for (uint32_t i = 0; i < counters; i++) {
    uint4 n = generator(uint4{i, 0, 0, 0});
    expected += inside(n.x, n.y) + inside(n.z, n.w);
  }
  unsigned long long hits = host_copy(total, 1)[0];
  REQUIRE(hits == expected, "%llu points inside, not %llu", hits, expected);
  double pi = 2.0 * double(hits) / counters;
  REQUIRE(std::fabs(pi - M_PI) < 0.02, "pi is %g", pi);

  Option option{100, 105, 0.03, 0.2, 1.5};
  price<<<16, 128>>>(generator, counters, option, sum);
  launched();
  double mean = host_copy(sum, 1)[0] / (2.0 * counters) * std::exp(-option.rate * option.years);
  double deviation = option.volatility * std::sqrt(option.years);
  double d1 = (std::log(option.spot / option.strike) + option.rate * option.years) / deviation +
      deviation / 2;
  auto normal = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
  double exact = option.spot * normal(d1) -
      option.strike * std::exp(-option.rate * option.years) * normal(d1 - deviation);
  REQUIRE(std::fabs(mean - exact) < 0.2, "the option is worth %g, not %g", mean, exact);
  CHECK(cudaFree(total));
  CHECK(cudaFree(sum));
  return ok("pi %.4f, option %.3f of %.3f", pi, mean, exact);
}
