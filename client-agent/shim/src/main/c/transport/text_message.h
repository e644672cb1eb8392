// SPDX-License-Identifier: Apache-2.0
// Messages of key=value lines as they pass between shim and agent:
//   u32 magic 'GPA1' | u32 textBytes (at most 16384) | text
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEXT_MAGIC = 0x31415047, TEXT_MAX_BYTES = 16384, TEXT_HEADER_BYTES = 8 };

struct text_message {
  uint32_t magic;
  uint32_t bytes;
  char text[TEXT_MAX_BYTES + 1];
};

void text_begin(struct text_message *message);

/** Adds a line; one that does not fit is left out. */
void text_add(struct text_message *message, const char *key, const char *value);

/** Copies the value of a key, cut to size; the empty string if it is not there. */
void text_get(const struct text_message *message, const char *key, char *value, size_t bytes);

bool text_send(const struct text_message *message, int descriptor);

/** Receives one message and not a byte more. */
bool text_receive(struct text_message *message, int descriptor);
