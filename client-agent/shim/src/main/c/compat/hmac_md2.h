// SPDX-License-Identifier: Apache-2.0
// HMAC with MD2, by which the CUDA runtime checks an export table.
#pragma once

#include "core/driver.h"

/** HMAC (RFC 2104) over MD2 (RFC 1319), whose block is 16 bytes. */
struct hmac_md2 {
  uint8_t state[48];
  uint8_t checksum[16];
  uint8_t buffer[16];
  uint8_t filled;
  uint8_t key[16];
};

void hmac_begin(struct hmac_md2 *hmac, const uint8_t key[16]);
void hmac_add(struct hmac_md2 *hmac, const void *data, size_t bytes);
void hmac_end(struct hmac_md2 *hmac, uint8_t result[16]);
