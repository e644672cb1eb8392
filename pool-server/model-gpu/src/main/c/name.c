// SPDX-License-Identifier: Apache-2.0
// Words in the names of kernels. They may be mangled: `_ZN3one4hangEPi` is `one::hang`.
#include "module.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/** Returns whether an identifier has this word; `_` ends each. */
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
  // A nested name has N and qualifiers, an internal one L.
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
