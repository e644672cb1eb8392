// SPDX-License-Identifier: Apache-2.0
// 64 and 128 bits: high halves of products, __int128, modular powers, and numbers of 512 bits with carries.
#include "check.h"

typedef unsigned long long word;
typedef unsigned __int128 wide;

__host__ __device__ inline word power_mod(word base, word exponent, word modulus) {
  word result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = word(wide(result) * base % modulus);
    base = word(wide(base) * base % modulus);
  }
  return result;
}

// Miller and Rabin, with bases that decide for every 64-bit number.
__host__ __device__ inline bool prime(word n) {
  const int bases[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
  if (n < 2) return false;
  for (int base : bases) {
    if (n % base == 0) return n == word(base);
  }
  word odd = n - 1;
  int twos = 0;
  for (; odd % 2 == 0; odd /= 2) twos++;
  for (int base : bases) {
    word x = power_mod(base, odd, n);
    bool passes = x == 1 || x == n - 1;
    for (int i = 1; i < twos && !passes; i++) {
      x = word(wide(x) * x % n);
      passes = x == n - 1;
    }
    if (!passes) return false;
  }
  return true;
}

__global__ void test_primes(const word *numbers, int count, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = prime(numbers[i]);
}

struct Results {
  word unsigned_high, mixed;
  long long signed_high;
  __int128 quotient, remainder, shifted;
  int order;
};

__host__ __device__ inline Results compute(word a, word b) {
  Results r;
#ifdef __CUDA_ARCH__
  r.unsigned_high = __umul64hi(a, b);
  r.signed_high = __mul64hi((long long)a, (long long)b);
#else
  r.unsigned_high = word(wide(a) * b >> 64);
  r.signed_high = (long long)(__int128((long long)a) * (long long)b >> 64);
#endif
  __int128 x = __int128((long long)a) * (long long)(b >> 3) + (long long)b, y = (long long)(a >> 17) - 12345;
  r.mixed = (a << (b & 63)) ^ (a >> (a & 63)) ^ (b / (a | 1)) ^ (a % (b | 1));
  r.quotient = x / y;
  r.remainder = x % y;
  r.shifted = (x << (b % 128)) ^ (x >> (a % 128)) ^ __int128(wide(x) >> (a % 77));
  r.order = (x < y) + 2 * (wide(x) < wide(y)) + 4 * (x == y);
  return r;
}

__global__ void compute_all(const word *a, const word *b, int count, Results *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = compute(a[i], b[i]);
}

const int limbs = 16;

// 512 bits and 512 bits: the sum by a chain of carries, and a product of 1024 bits column by column.
__global__ void big(const unsigned *a, const unsigned *b, unsigned *sum, unsigned *product) {
  int base = (blockIdx.x * blockDim.x + threadIdx.x) * limbs;
  unsigned x[limbs], y[limbs], carry;
  for (int i = 0; i < limbs; i++) x[i] = a[base + i], y[i] = b[base + i];
  asm volatile("add.cc.u32 %0, %1, %2;" : "=r"(sum[base]) : "r"(x[0]), "r"(y[0]));
#pragma unroll
  for (int i = 1; i < limbs; i++) {
    asm volatile("addc.cc.u32 %0, %1, %2;" : "=r"(sum[base + i]) : "r"(x[i]), "r"(y[i]));
  }
  asm volatile("addc.u32 %0, 0, 0;" : "=r"(carry));
  unsigned low = 0, middle = 0, high = 0;
  for (int column = 0; column < 2 * limbs - 1; column++) {
    for (int i = max(0, column - limbs + 1); i <= min(column, limbs - 1); i++) {
      asm("mad.lo.cc.u32 %0, %3, %4, %0;\n\t"
          "madc.hi.cc.u32 %1, %3, %4, %1;\n\t"
          "addc.u32 %2, %2, 0;"
          : "+r"(low), "+r"(middle), "+r"(high)
          : "r"(x[i]), "r"(y[column - i]));
    }
    product[base * 2 + column] = low;
    low = middle;
    middle = high;
    high = 0;
  }
  product[base * 2 + 2 * limbs - 1] = low;
  sum[base] ^= carry;
}

int main() {
  const int count = 512;
  Numbers numbers(53);
  std::vector<word> a(count), b(count);
  std::vector<int> expected(count);
  auto random = [&] { return (word(numbers.next()) << 32 | numbers.next()) >> numbers.next() % 64; };
  for (int i = 0; i < count; i++) {
    a[i] = i < 60 ? i : i == 60 ? 18446744073709551557ull : i == 61 ? 3215031751ull : random() | 1;
    b[i] = i % 20 == 0 ? ~0ull : i % 21 == 0 ? 1ull << 63 : random();
    expected[i] = prime(a[i]);
  }
  REQUIRE(expected[60] == 1 && expected[61] == 0 && expected[53] == 1, "the CPU errs");
  word *d_a = device_copy(a), *d_b = device_copy(b);
  int *primes;
  Results *results;
  CHECK(cudaMalloc(&primes, count * sizeof(int)));
  CHECK(cudaMalloc(&results, count * sizeof(Results)));
  test_primes<<<count / 64, 64>>>(d_a, count, primes);
  compute_all<<<count / 64, 64>>>(d_a, d_b, count, results);
  launched();
  require_equal(host_copy(primes, count), expected);
  std::vector<Results> actual = host_copy(results, count);
  for (int i = 0; i < count; i++) {
    Results r = compute(a[i], b[i]);
    REQUIRE(actual[i].unsigned_high == r.unsigned_high && actual[i].signed_high == r.signed_high &&
            actual[i].mixed == r.mixed && actual[i].quotient == r.quotient &&
            actual[i].remainder == r.remainder && actual[i].shifted == r.shifted &&
            actual[i].order == r.order,
        "results %d of %llu and %llu differ", i, a[i], b[i]);
  }

  const int big_count = 32;
  std::vector<unsigned> x(big_count * limbs), y(x.size()), sums(x.size()), products(2 * x.size());
  for (size_t i = 0; i < x.size(); i++) {
    x[i] = i % 5 == 0 ? ~0u : numbers.next();
    y[i] = i % 3 == 0 ? ~0u : numbers.next();
  }
  for (int n = 0; n < big_count; n++) {
    word carry = 0;
    for (int i = 0; i < limbs; i++) {
      carry += word(x[n * limbs + i]) + y[n * limbs + i];
      sums[n * limbs + i] = unsigned(carry);
      carry >>= 32;
    }
    sums[n * limbs] ^= unsigned(carry);
    for (int i = 0; i < limbs; i++) {
      word over = 0;
      for (int j = 0; j < limbs; j++) {
        unsigned &limb = products[2 * n * limbs + i + j];
        over += word(x[n * limbs + i]) * y[n * limbs + j] + limb;
        limb = unsigned(over);
        over >>= 32;
      }
      products[2 * n * limbs + i + limbs] = unsigned(over);
    }
  }
  unsigned *d_x = device_copy(x), *d_y = device_copy(y), *d_sum = device_copy(x);
  unsigned *d_product = device_copy(products);
  CHECK(cudaMemset(d_product, 0, products.size() * sizeof(unsigned)));
  big<<<1, big_count>>>(d_x, d_y, d_sum, d_product);
  launched();
  require_equal(host_copy(d_sum, sums.size()), sums);
  require_equal(host_copy(d_product, products.size()), products);
  CHECK(cudaFree(d_a));
  CHECK(cudaFree(d_b));
  CHECK(cudaFree(primes));
  CHECK(cudaFree(results));
  CHECK(cudaFree(d_x));
  CHECK(cudaFree(d_y));
  CHECK(cudaFree(d_sum));
  CHECK(cudaFree(d_product));
  return ok("%d numbers, %d of 512 bits", count, big_count);
}
