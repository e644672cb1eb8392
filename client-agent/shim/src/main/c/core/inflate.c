// SPDX-License-Identifier: Apache-2.0
#include "core/inflate.h"

#include <zlib.h>

bool inflate_all(const uint8_t *bytes, uint32_t length, uint8_t *out, uint32_t outBytes) {
  z_stream stream = {.next_in = (uint8_t *)bytes, .avail_in = length, .next_out = out, .avail_out = outBytes};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
  bool whole = inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  return whole;
}
