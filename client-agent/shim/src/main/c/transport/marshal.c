// SPDX-License-Identifier: Apache-2.0
#include "transport/marshal.h"

void reply_variable(struct call *call, uint32_t *usedBytes, struct variable *output) {
  output->data = NULL;
  output->length = 0;
  if (!output->capacity) return;  // not wanted, so not there
  uint64_t left = call->payload ? call->replyBytes - *usedBytes : 0;
  const uint8_t *at = (const uint8_t *)call->payload + *usedBytes;
  uint64_t length;
  if (left < sizeof length) return;
  memcpy(&length, at, sizeof length);
  if (length > left - sizeof length) return;
  output->data = at + sizeof length;
  output->length = length < output->capacity ? length : output->capacity;
  *usedBytes += (uint32_t)(sizeof length + ((length + 7) & ~7ull));
  if (*usedBytes > call->replyBytes) *usedBytes = call->replyBytes;
}
