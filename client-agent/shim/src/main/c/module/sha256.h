// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), by which images are known to servers.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { DIGEST_BYTES = 32, DIGEST_BLOCK_BYTES = 64 };

struct digest {
  uint32_t state[8];
  uint64_t totalBytes;
  uint8_t block[DIGEST_BLOCK_BYTES];  // what does not fill one yet
};

void digest_begin(struct digest *digest);

void digest_add(struct digest *digest, const void *data, size_t bytes);

void digest_end(struct digest *digest, uint8_t result[DIGEST_BYTES]);
