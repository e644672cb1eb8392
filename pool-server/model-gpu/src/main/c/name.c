// SPDX-License-Identifier: Apache-2.0
// What the names of kernels say. They may be mangled: `_ZN3one4hangEPi` is `one::hang`.
#include "module.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/** Whether a word of an identifier, of which `_` ends each, is this one. */
static bool has_word(const char *identifier, size_t length, const char *word) {
  size_t wanted = strlen(word);
  for (size_t at = 0; at < length;) {
    const char *end = memchr(identifier + at, '_', length - at);
    size_t bytes = end ? (size_t)(end - identifier) - at : length - at;
    if (bytes == wanted && !memcmp(identifier + at, word, wanted)) return true;
    at += bytes + 1;
  }
  return false;
}

bool name_says(const char *name, const char *word) {
  if (strncmp(name, "_Z", 2)) return has_word(name, strlen(name), word);
  // Of a nested name, N and qualifiers; of one that is internal, L.
  const char *at = name + 2 + strspn(name + 2, "NKVrL");
  while (isdigit((unsigned char)*at)) {
    char *identifier;
    size_t length = strtoul(at, &identifier, 10);
    if (length > strlen(identifier)) return false;
    if (has_word(identifier, length, word)) return true;
    at = identifier + length;
  }
  return false;
}
