// SPDX-License-Identifier: Apache-2.0
// The parts that generated encoders are made of: frames in the send ring, and calls that wait for their answer.
#pragma once

#include "transport/credit.h"
#include "transport/replies.h"
#include "transport/ring.h"
#include "transport/sender.h"
#include "transport/session_state.h"

#include <string.h>

#define FRAME(length, op, ctx) \
  ((uint64_t)(length) | (uint64_t)(op) << 32 | (uint64_t)connection_context(ctx) << 48)

enum { BULK_BYTES = 32 << 10 };  // longer buffers are not copied into the ring

/** A variable output: in, how much is wanted; out, what came. */
struct variable {
  uint64_t capacity;
  const uint8_t *data;
  uint64_t length;
};

/** Adds an input buffer to a frame's length; false if it does not fit in a frame. */
static inline bool frame_grow(uint64_t *length, const void *data, uint64_t bytes) {
  if (!data) return true;
  if (bytes > MAX_DATA_BYTES) return false;
  *length += (bytes + 7) & ~(uint64_t)7;
  return *length <= MAX_FRAME_BYTES;
}

/** Copies an input buffer to where it belongs in a frame; answers where the next one does. */
static inline uint64_t *frame_append(uint64_t *slot, const void *data, uint64_t bytes) {
  if (!data || !bytes) return slot;
  uint64_t *end = slot + (bytes + 7) / 8;
  end[-1] = 0;
  memcpy(slot, data, bytes);
  return end;
}

static inline uint64_t frame_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline float frame_float(uint64_t slot) {
  uint32_t bits = (uint32_t)slot;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/** The next fixed output of an answer. */
static inline uint64_t reply_slot(struct call *call, const uint64_t *reply, uint32_t *used) {
  if (8 * (*used + 1) > call->replyBytes) {
    call->shortReply = true;
    return 0;
  }
  return reply[(*used)++];
}

/** The next variable output of an answer; empty if it is not there. */
void reply_variable(struct call *call, uint32_t *usedBytes, struct variable *output);
