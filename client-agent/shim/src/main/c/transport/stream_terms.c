// SPDX-License-Identifier: Apache-2.0
#include "transport/stream_terms.h"

#include "core/memory_file.h"
#include "wire.h"

#include <stdio.h>

void stream_terms_offer(struct text_message *request) {
  text_add(request, "seals", "1");
  // Some bytes are written to the memory as to a file.
  if (memory_file_may_have(SHARED_MEMORY_BYTES)) text_add(request, "shares", "1");
}

static void get(const struct text_message *answer, const char *key, uint32_t number, char *value, size_t bytes) {
  char numbered[32];
  snprintf(numbered, sizeof numbered, number == UINT32_MAX ? "%s" : "%s.%u", key, number);
  text_get(answer, numbered, value, bytes);
}

void stream_terms_get(const struct text_message *answer, uint32_t number, struct stream_terms *terms) {
  char local[4];
  get(answer, "secret", number, terms->secret, sizeof terms->secret);
  get(answer, "local", number, local, sizeof local);
  terms->shares = *local == '1';
}
