// SPDX-License-Identifier: Apache-2.0
// SHA-256 of many messages of all lengths, and the search for a number whose hash begins with zeros.
#include "check.h"

#include <string>

struct Digest {
  uint32_t words[8];
};

__constant__ uint32_t constants[64];
static uint32_t host_constants[64];

__host__ __device__ inline uint32_t turn(uint32_t x, int by) { return x >> by | x << (32 - by); }

__host__ __device__ inline void add_block(Digest &digest, const unsigned char *bytes, const uint32_t *k) {
  uint32_t w[64], s[8];
  for (int i = 0; i < 16; i++) {
    w[i] = uint32_t(bytes[4 * i]) << 24 | bytes[4 * i + 1] << 16 | bytes[4 * i + 2] << 8 | bytes[4 * i + 3];
  }
  for (int i = 16; i < 64; i++) {
    uint32_t a = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3;
    uint32_t b = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + a + w[i - 7] + b;
  }
  for (int i = 0; i < 8; i++) s[i] = digest.words[i];
  for (int i = 0; i < 64; i++) {
    uint32_t e = turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25);
    uint32_t t = s[7] + e + ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i] + w[i];
    uint32_t a = turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22);
    uint32_t u = a + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    for (int j = 7; j > 0; j--) s[j] = s[j - 1];
    s[4] += t;
    s[0] = t + u;
  }
  for (int i = 0; i < 8; i++) digest.words[i] += s[i];
}

__host__ __device__ inline Digest hash(const unsigned char *message, int length, const uint32_t *k) {
  Digest digest = {{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
      0x1f83d9ab, 0x5be0cd19}};
  int blocks = (length + 9 + 63) / 64;
  for (int block = 0; block < blocks; block++) {
    unsigned char bytes[64];
    for (int i = 0; i < 64; i++) {
      int at = block * 64 + i, from_end = blocks * 64 - 1 - at;
      bytes[i] = at < length ? message[at] : at == length ? 0x80 : 0;
      if (from_end < 4 && at > length) bytes[i] = static_cast<unsigned char>(unsigned(length) * 8 >> from_end * 8);
    }
    add_block(digest, bytes, k);
  }
  return digest;
}

__global__ void hash_all(const unsigned char *text, int count, Digest *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = hash(text + i, i, constants);
}

// The least number, as eight hexadecimal digits, whose hash begins with 12 zero bits.
__host__ __device__ inline bool wins(unsigned number, const uint32_t *k) {
  unsigned char digits[8];
  for (int i = 0; i < 8; i++) digits[i] = "0123456789abcdef"[number >> (28 - 4 * i) & 15];
  return hash(digits, 8, k).words[0] >> 20 == 0;
}

__global__ void search(unsigned limit, unsigned *found) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < limit; i += gridDim.x * blockDim.x) {
    if (i >= *static_cast<volatile unsigned *>(found)) return;
    if (wins(i, constants)) atomicMin(found, i);
  }
}

int main() {
  // The first 32 bits behind the point of the cube roots of the first 64 primes.
  int primes = 0;
  for (int n = 2; primes < 64; n++) {
    bool prime = true;
    for (int d = 2; d * d <= n; d++) prime = prime && n % d != 0;
    if (prime) {
      long double root = std::cbrt(static_cast<long double>(n));
      host_constants[primes++] = uint32_t((root - std::floor(root)) * 4294967296.0L);
    }
  }
  CHECK(cudaMemcpyToSymbol(constants, host_constants, sizeof constants));
  const unsigned char abc[] = {'a', 'b', 'c'};
  REQUIRE(hash(abc, 3, host_constants).words[0] == 0xba7816bf, "the CPU errs");

  const int count = 300;
  Numbers numbers(56);
  std::vector<unsigned char> text(2 * count);
  for (unsigned char &c : text) c = static_cast<unsigned char>(numbers.next());
  std::memcpy(&text[3], abc, 3);
  unsigned char *d_text = device_copy(text);
  Digest *out;
  CHECK(cudaMalloc(&out, count * sizeof(Digest)));
  hash_all<<<(count + 63) / 64, 64>>>(d_text, count, out);
  launched();
  std::vector<Digest> actual = host_copy(out, count);
  const Digest of_abc = {{0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223, 0xb00361a3, 0x96177a9c,
      0xb410ff61, 0xf20015ad}};
  REQUIRE(std::memcmp(&actual[3], &of_abc, sizeof of_abc) == 0, "abc has %08x...", actual[3].words[0]);
  for (int i = 0; i < count; i++) {
    Digest expected = hash(&text[i], i, host_constants);
    REQUIRE(std::memcmp(&actual[i], &expected, sizeof expected) == 0,
        "message %d has %08x..., not %08x...", i, actual[i].words[0], expected.words[0]);
  }
  unsigned *found = device_copy(std::vector<unsigned>{~0u}), expected = 0;
  while (!wins(expected, host_constants)) expected++;
  search<<<8, 64>>>(100000, found);
  launched();
  REQUIRE(host_copy(found, 1)[0] == expected, "%u wins, not %u", host_copy(found, 1)[0], expected);
  CHECK(cudaFree(d_text));
  CHECK(cudaFree(out));
  CHECK(cudaFree(found));
  return ok("%d messages, number %u wins", count, expected);
}
