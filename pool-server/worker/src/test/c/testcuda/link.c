// SPDX-License-Identifier: Apache-2.0
// Linking: the result is an image with the lines of all parts.
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct link {
  char text[4096];
  char *log;
};

enum { LINK_INFO_LOG = 3 };

Result cuLinkCreate_v2(unsigned count, int *keys, void **values, struct link **out) {
  *out = calloc(1, sizeof **out);
  strcpy((*out)->text, "testcuda\n");
  for (unsigned i = 0; i < count; i++)
    if (keys[i] == LINK_INFO_LOG) (*out)->log = values[i];
  return usable();
}

Result cuLinkAddData_v2(struct link *link, int type, const char *data, size_t size, const char *name, unsigned count,
                        int *keys, void **values) {
  count_call();
  (void)type; (void)count; (void)keys; (void)values;
  if (size < 9 || strncmp(data, "testcuda\n", 9)) return INVALID_IMAGE;
  strncat(link->text, data + 9, size - 9);
  if (link->log) sprintf(link->log + strlen(link->log), "added %s;", name);
  return SUCCESS;
}

Result cuLinkComplete(struct link *link, void **out, size_t *size) {
  *out = link->text;
  *size = strlen(link->text) + 1;
  return SUCCESS;
}

Result cuLinkDestroy(struct link *link) { free(link); return SUCCESS; }
