// SPDX-License-Identifier: Apache-2.0
#include "module/sha256.h"

#include <string.h>

enum { ROUNDS = 64, LENGTH_BYTES = 8 };

// Fractional parts of the cube roots of the first 64 primes.
static const uint32_t constants[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

void sha256_begin(struct sha256 *digest) {
  // Fractional parts of the square roots of the first 8 primes.
  static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memcpy(digest->state, start, sizeof start);
  digest->totalBytes = 0;
}

static uint32_t rotated(uint32_t word, int bits) { return word >> bits | word << (32 - bits); }

static void add_block(uint32_t state[8], const uint8_t *block) {
  uint32_t w[ROUNDS], s[8];
  for (int i = 0; i < 16; i++) {
    memcpy(&w[i], block + 4 * i, 4);
    w[i] = __builtin_bswap32(w[i]);
  }
  for (int i = 16; i < ROUNDS; i++) {
    uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) +
           (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
  }
  memcpy(s, state, sizeof s);
  for (int i = 0; i < ROUNDS; i++) {
    uint32_t e = s[4], a = s[0];
    uint32_t first = s[7] + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) +
                     ((e & s[5]) ^ (~e & s[6])) + constants[i] + w[i];
    uint32_t second = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) +
                      ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
    memmove(s + 1, s, 7 * sizeof *s);
    s[4] += first;
    s[0] = first + second;
  }
  for (int i = 0; i < 8; i++) state[i] += s[i];
}

void sha256_add(struct sha256 *digest, const void *data, size_t bytes) {
  const uint8_t *at = data;
  while (bytes) {
    size_t filled = digest->totalBytes % SHA256_BLOCK_BYTES;
    size_t taken = SHA256_BLOCK_BYTES - filled < bytes ? SHA256_BLOCK_BYTES - filled : bytes;
    if (taken == SHA256_BLOCK_BYTES) {
      add_block(digest->state, at);
    } else {
      memcpy(digest->block + filled, at, taken);
      if (filled + taken == SHA256_BLOCK_BYTES) add_block(digest->state, digest->block);
    }
    digest->totalBytes += taken;
    at += taken;
    bytes -= taken;
  }
}

void sha256_end(struct sha256 *digest, uint8_t result[SHA256_BYTES]) {
  static const uint8_t padding[SHA256_BLOCK_BYTES] = {0x80};
  uint64_t bits = __builtin_bswap64(8 * digest->totalBytes);
  size_t filled = digest->totalBytes % SHA256_BLOCK_BYTES;
  size_t room = SHA256_BLOCK_BYTES - LENGTH_BYTES;
  sha256_add(digest, padding, filled < room ? room - filled : SHA256_BLOCK_BYTES + room - filled);
  sha256_add(digest, &bits, sizeof bits);
  for (int i = 0; i < 8; i++) {
    uint32_t word = __builtin_bswap32(digest->state[i]);
    memcpy(result + 4 * i, &word, 4);
  }
}
