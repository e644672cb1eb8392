// SPDX-License-Identifier: Apache-2.0
// Decompression of DEFLATE (RFC 1951).
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** Decompresses a whole stream to exactly so many bytes; false: it is none, or makes more or fewer. */
bool inflate_all(const uint8_t *bytes, uint32_t length, uint8_t *out, uint32_t outBytes);
