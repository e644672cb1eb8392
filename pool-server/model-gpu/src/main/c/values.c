// SPDX-License-Identifier: Apache-2.0
// Initial values of PTX variables: numbers, as they are or in braces. Addresses of other variables stay zero.
#include "module.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/** 12, -1, 0x1F; 0f3F800000 and 0d3FF0000000000000 are the bits of floating-point numbers. */
static uint64_t number(const char *at, const char **end) {
  char *after;
  bool isReal = at[0] == '0' && at[1] && strchr("fFdD", at[1]);
  uint64_t value = isReal ? strtoull(at + 2, &after, 16) : strtoull(at, &after, 0);
  *end = after + strspn(after, "U");
  return value;
}

void *ptx_values(const char *text, uint64_t elementBytes, uint64_t bytes) {
  char *values = calloc(1, bytes);
  uint64_t at = 0;
  while (*text && *text != ';' && at + elementBytes <= bytes) {
    if (*text == '-' || isdigit((unsigned char)*text)) {
      uint64_t value = number(text, &text);
      memcpy(values + at, &value, elementBytes < sizeof value ? elementBytes : sizeof value);
      at += elementBytes;
    } else if (isalpha((unsigned char)*text) || *text == '_' || *text == '$') {
      text += strcspn(text, ",};");
      at += elementBytes;
    } else {
      text++;
    }
  }
  return values;
}
