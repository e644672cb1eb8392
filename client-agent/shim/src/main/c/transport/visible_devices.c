// SPDX-License-Identifier: Apache-2.0
#include "transport/visible_devices.h"

#include "transport/device_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/** Returns whether a UUID, as "GPU-" and hexadecimal digits with dashes, begins with this. */
static bool uuid_begins(const uint8_t uuid[16], const char *prefix, size_t length) {
  char text[4 + 36 + 1];
  snprintf(text, sizeof text,
           "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", uuid[0],
           uuid[1], uuid[2], uuid[3], uuid[4], uuid[5], uuid[6], uuid[7], uuid[8], uuid[9],
           uuid[10], uuid[11], uuid[12], uuid[13], uuid[14], uuid[15]);
  return length > 4 && length < sizeof text && strncasecmp(text, prefix, length) == 0;
}

/** The device that one word of CUDA_VISIBLE_DEVICES names, or NULL. */
static const struct device *named_device(const char *word, size_t length) {
  char *end;
  uint32_t count = devices_count();
  long ordinal = strtol(word, &end, 10);
  if (length && end == word + length) {
    return ordinal >= 0 && ordinal < (long)count ? device_find((CUdevice)ordinal) : NULL;
  }
  for (uint32_t i = 0; i < count; i++) {
    const struct device *device = device_find((CUdevice)i);
    if (uuid_begins(device->uuid, word, length)) return device;
  }
  return NULL;
}

void visible_devices_select(void) {
  const char *at = getenv("CUDA_VISIBLE_DEVICES");
  struct device chosen[MAX_DEVICES];
  uint32_t chosenCount = 0;
  if (!at) return;
  for (bool more = true; more && chosenCount < MAX_DEVICES;) {
    at += strspn(at, " ");
    size_t length = strcspn(at, ", ");
    const struct device *device = named_device(at, length);
    if (!device) break;
    for (uint32_t i = 0; i < chosenCount; i++) {
      if (chosen[i].attributes != device->attributes) continue;
      devices_keep(chosen, 0);  // named twice: CUDA shows none
      return;
    }
    chosen[chosenCount++] = *device;
    at += length;
    at += strspn(at, " ");
    more = *at++ == ',';
  }
  devices_keep(chosen, chosenCount);
}

bool visible_devices_none(void) {
  const char *at = getenv("CUDA_VISIBLE_DEVICES");
  if (!at) return false;
  at += strspn(at, " ");
  return strncasecmp(at, "GPU-", 4) != 0 && (*at < '0' || *at > '9');
}
