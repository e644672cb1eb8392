// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), by which images are known to servers.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_BLOCK_BYTES = 64 };

struct sha256 {
  uint32_t state[8];
  uint64_t totalBytes;
  uint8_t block[SHA256_BLOCK_BYTES];  // what does not fill one yet
};

void sha256_begin(struct sha256 *digest);

void sha256_add(struct sha256 *digest, const void *data, size_t bytes);

void sha256_end(struct sha256 *digest, uint8_t result[SHA256_BYTES]);
