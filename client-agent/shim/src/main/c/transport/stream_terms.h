// SPDX-License-Identifier: Apache-2.0
// The terms of a call stream, which shim and agent agree on: whether it is sealed, or shares memory with its worker.
#pragma once

#include "transport/text_message.h"

enum { SEAL_TEXT_BYTES = 72 };

struct stream_terms {
  char secret[SEAL_TEXT_BYTES];  // with which the stream is sealed; empty: it is not
  bool shares;                   // memory, as the worker is on this machine
};

/** Tells the agent which terms the shim can keep. */
void stream_terms_offer(struct text_message *request);

/** Reads the agent's answer for a connection; of a resumed one, number is UINT32_MAX, and the keys have none. */
void stream_terms_get(const struct text_message *answer, uint32_t number, struct stream_terms *terms);
