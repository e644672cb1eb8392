// SPDX-License-Identifier: Apache-2.0
#include "compat/hmac_md2.h"

#include <string.h>

enum { BLOCK_BYTES = 16, ROUNDS = 18, INNER = 0x36, OUTER = 0x5c };

// Digits of pi (RFC 1319).
static const uint8_t pi[256] = {
    41, 46, 67, 201, 162, 216, 124, 1, 61, 54, 84, 161, 236, 240, 6, 19,
    98, 167, 5, 243, 192, 199, 115, 140, 152, 147, 43, 217, 188, 76, 130, 202,
    30, 155, 87, 60, 253, 212, 224, 22, 103, 66, 111, 24, 138, 23, 229, 18,
    190, 78, 196, 214, 218, 158, 222, 73, 160, 251, 245, 142, 187, 47, 238, 122,
    169, 104, 121, 145, 21, 178, 7, 63, 148, 194, 16, 137, 11, 34, 95, 33,
    128, 127, 93, 154, 90, 144, 50, 39, 53, 62, 204, 231, 191, 247, 151, 3,
    255, 25, 48, 179, 72, 165, 181, 209, 215, 94, 146, 42, 172, 86, 170, 198,
    79, 184, 56, 210, 150, 164, 125, 182, 118, 252, 107, 226, 156, 116, 4, 241,
    69, 157, 112, 89, 100, 113, 135, 32, 134, 91, 207, 101, 230, 45, 168, 2,
    27, 96, 37, 173, 174, 176, 185, 246, 28, 70, 97, 105, 52, 64, 126, 15,
    85, 71, 163, 35, 221, 81, 175, 58, 195, 92, 249, 206, 186, 197, 234, 38,
    44, 83, 13, 110, 133, 40, 132, 9, 211, 223, 205, 244, 65, 129, 77, 82,
    106, 220, 55, 200, 108, 193, 171, 250, 36, 225, 123, 8, 12, 189, 177, 74,
    120, 136, 149, 139, 227, 99, 232, 109, 233, 203, 213, 254, 59, 0, 29, 57,
    242, 239, 183, 14, 102, 88, 208, 228, 166, 119, 114, 248, 235, 117, 75, 10,
    49, 68, 80, 180, 143, 237, 31, 26, 219, 153, 141, 51, 159, 17, 131, 20,
};

static void md2_block(struct hmac_md2 *hmac) {
  uint8_t last = hmac->checksum[BLOCK_BYTES - 1];
  for (int i = 0; i < BLOCK_BYTES; i++) {
    uint8_t byte = hmac->buffer[i];
    last = hmac->checksum[i] ^= pi[byte ^ last];
    hmac->state[BLOCK_BYTES + i] = byte;
    hmac->state[2 * BLOCK_BYTES + i] = hmac->state[i] ^ byte;
  }
  uint8_t mix = 0;
  for (int round = 0; round < ROUNDS; round++) {
    for (size_t i = 0; i < sizeof hmac->state; i++) mix = hmac->state[i] ^= pi[mix];
    mix = (uint8_t)(mix + round);
  }
  hmac->filled = 0;
}

void hmac_add(struct hmac_md2 *hmac, const void *data, size_t bytes) {
  const uint8_t *at = data;
  for (size_t i = 0; i < bytes; i++) {
    hmac->buffer[hmac->filled++] = at[i];
    if (hmac->filled == BLOCK_BYTES) md2_block(hmac);
  }
}

static void md2_begin(struct hmac_md2 *hmac, uint8_t mask) {
  memset(hmac->state, 0, sizeof hmac->state);
  memset(hmac->checksum, 0, sizeof hmac->checksum);
  hmac->filled = 0;
  for (int i = 0; i < BLOCK_BYTES; i++) {
    uint8_t byte = hmac->key[i] ^ mask;
    hmac_add(hmac, &byte, 1);
  }
}

static void md2_end(struct hmac_md2 *hmac, uint8_t result[BLOCK_BYTES]) {
  uint8_t padding[BLOCK_BYTES];
  size_t missing = BLOCK_BYTES - hmac->filled;
  memset(padding, (int)missing, missing);
  hmac_add(hmac, padding, missing);
  uint8_t checksum[BLOCK_BYTES];
  memcpy(checksum, hmac->checksum, sizeof checksum);
  hmac_add(hmac, checksum, sizeof checksum);
  memcpy(result, hmac->state, BLOCK_BYTES);
}

void hmac_begin(struct hmac_md2 *hmac, const uint8_t key[16]) {
  memcpy(hmac->key, key, sizeof hmac->key);
  md2_begin(hmac, INNER);
}

void hmac_end(struct hmac_md2 *hmac, uint8_t result[16]) {
  uint8_t inner[BLOCK_BYTES];
  md2_end(hmac, inner);
  md2_begin(hmac, OUTER);
  hmac_add(hmac, inner, sizeof inner);
  md2_end(hmac, result);
}
