// SPDX-License-Identifier: Apache-2.0
// Frames of a call stream: their limits, and the header of the frames that a worker sends.
#pragma once

#include <stdint.h>

enum {
  MAX_DATA_BYTES = 1 << 20,                 // in one frame
  MAX_FRAME_BYTES = MAX_DATA_BYTES + 4096,  // either direction
};

enum answer_kind {
  ANSWER_WELCOME,
  ANSWER_REPLY,
  ANSWER_DATA,
  ANSWER_CALLBACK,
  ANSWER_ACK,
  ANSWER_FATAL,
  ANSWER_OUTPUT,
};

enum { ANSWER_HEADER_BYTES = 16 };

struct answer_header {
  uint32_t length;
  uint16_t kind;
  uint16_t zero;
  uint32_t tag;
  int32_t result;
};
_Static_assert(sizeof(struct answer_header) == ANSWER_HEADER_BYTES, "answer_header");
