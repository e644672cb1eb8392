// SPDX-License-Identifier: Apache-2.0
// A 64-bit fingerprint of a block of memory, by which a change of it is noticed.
#pragma once

#include "core/driver.h"

#include <string.h>

#define FINGERPRINT_A UINT64_C(0x9e3779b97f4a7c15)
#define FINGERPRINT_B UINT64_C(0xd1b54a32d192ed03)

static inline uint64_t fingerprint_turn(uint64_t value, int bits) {
  return value << bits | value >> (64 - bits);
}

/** One step: for a given lane, different words give different lanes. */
static inline uint64_t fingerprint_step(uint64_t lane, uint64_t word) {
  return fingerprint_turn(lane + word * FINGERPRINT_A, 29) * FINGERPRINT_B;
}

/** Returns the fingerprint of any number of bytes at any alignment; never 0. */
static inline uint64_t fingerprint(const uint8_t *data, uint64_t bytes) {
  uint64_t lanes[4] = {bytes, FINGERPRINT_A, FINGERPRINT_B, ~bytes};
  uint64_t words[4];
  while (bytes >= sizeof words) {
    memcpy(words, data, sizeof words);
    for (int i = 0; i < 4; i++) lanes[i] = fingerprint_step(lanes[i], words[i]);
    data += sizeof words;
    bytes -= sizeof words;
  }
  if (bytes) {
    memset(words, 0, sizeof words);
    memcpy(words, data, bytes);
    for (int i = 0; i < 4; i++) lanes[i] = fingerprint_step(lanes[i], words[i]);
  }
  uint64_t all = lanes[0] + fingerprint_turn(lanes[1], 7) + fingerprint_turn(lanes[2], 12) +
                 fingerprint_turn(lanes[3], 18);
  all = (all ^ all >> 32) * FINGERPRINT_A;
  all = (all ^ all >> 29) * FINGERPRINT_B;
  all ^= all >> 32;
  return all ? all : 1;
}
