// SPDX-License-Identifier: Apache-2.0
// Kernels and variables of PTX.
#include "module.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_space(const char *at) {
  while (isspace((unsigned char)*at)) at++;
  return at;
}

static size_t name_length(const char *at) {
  size_t length = 0;
  while (isalnum((unsigned char)at[length]) || at[length] == '_' || at[length] == '$') length++;
  return length;
}

static uint32_t type_bytes(const char *type) {
  const char *digits = type;
  while (*digits && !isdigit((unsigned char)*digits)) digits++;
  uint32_t bits = (uint32_t)atoi(digits);
  return bits >= 8 ? bits / 8 : 1;
}

/** One declaration: {.align N .b8 name[N]}, {.attribute(.managed) .u64 name}; returns its bytes, its name, and an element's bytes. */
static uint64_t read_declaration(const char *at, const char *end, const char **name, uint32_t *alignment,
                                 uint32_t *element) {
  *element = 0;
  *name = NULL;
  *alignment = 0;
  while (at < end) {
    at = skip_space(at);
    if (!strncmp(at, ".align", 6)) {
      *alignment = (uint32_t)strtoul(at + 6, (char **)&at, 10);
    } else if (*at == '.') {
      if (strchr("usfb", at[1]) && isdigit((unsigned char)at[2])) *element = type_bytes(at);
      bool attribute = !strncmp(at, ".attribute", 10);
      at++;
      at += name_length(at);
      if (attribute) at += strcspn(at, ")") + 1;
    } else {
      size_t length = name_length(at);
      if (!length) return 0;
      *name = at;
      at += length;
      uint64_t count = 1;
      while (*(at = skip_space(at)) == '[') {
        count *= strtoull(at + 1, NULL, 0);
        while (*at && *at != ']') at++;
        at++;
      }
      if (!*alignment) *alignment = *element;
      return *element * count;
    }
  }
  return 0;
}

/** Reads the text behind a kernel's parameters: `.maxntid 128, 1, 1`, then a body with `.shared` variables. */
static void read_body(struct function *function, const char *at) {
  for (; *at && *at != '{' && *at != ';'; at++) {
    if (strncmp(at, ".maxntid", 8)) continue;
    function->maxThreads = 1;
    for (at += 8; isdigit((unsigned char)*(at = skip_space(at))); at += *at == ',') {
      function->maxThreads *= (uint32_t)strtoul(at, (char **)&at, 10);
    }
    at--;
  }
  if (*at != '{') return;
  int depth = 0;
  do {
    depth += (*at == '{') - (*at == '}');
    if (!strncmp(at, ".shared ", 8)) {
      const char *name;
      uint32_t alignment, element;
      uint64_t bytes = read_declaration(at + 8, at + strcspn(at, ";"), &name, &alignment, &element);
      function->sharedBytes += bytes;
    }
    at++;
  } while (*at && depth);
}

static void read_entry(struct module *module, const char *at) {
  at = skip_space(at);
  size_t length = name_length(at);
  struct function *function = module_add_function(module, at, length);
  at = skip_space(at + length);
  if (*at != '(') {
    read_body(function, at);
    return;
  }
  uint64_t offset = 0;
  for (at++; *at && *at != ')';) {
    const char *end = at + strcspn(at, ",)"), *name;
    uint32_t alignment, element;
    const char *declaration = strstr(at, ".param");
    if (!declaration || declaration > end) break;
    uint64_t bytes = read_declaration(declaration + 6, end, &name, &alignment, &element);
    if (!bytes || function->parameterCount == MAX_PARAMETERS) break;
    if (!alignment) alignment = 1;
    offset = (offset + alignment - 1) / alignment * alignment;
    function->parameters[function->parameterCount].offset = (uint32_t)offset;
    function->parameters[function->parameterCount++].bytes = (uint32_t)bytes;
    offset += bytes;
    at = *end == ',' ? end + 1 : end;
  }
  read_body(function, at);
}

bool ptx_read(struct module *module, const char *text) {
  if (!strstr(text, ".version")) return false;
  for (const char *at = text; (at = strstr(at, ".entry"));) read_entry(module, at += 6);
  int depth = 0;
  for (const char *at = text; *at; at++) {
    if (*at == '{') depth++;
    if (*at == '}') depth--;
    bool global = !strncmp(at, ".global", 7), constant = !strncmp(at, ".const", 6);
    if (depth || (!global && !constant)) continue;
    const char *name;
    uint32_t alignment, element;
    at += global ? 7 : 6;
    const char *end = at + strcspn(at, "=;");
    uint64_t bytes = read_declaration(at, end, &name, &alignment, &element);
    if (bytes && name) {
      struct variable *variable = module_add_variable(module, name, name_length(name), bytes);
      if (*end == '=') variable->initial = ptx_values(end + 1, element, bytes);
    }
    at += strcspn(at, ";") - 1;
  }
  return true;
}
