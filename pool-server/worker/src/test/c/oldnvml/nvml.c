// SPDX-License-Identifier: Apache-2.0
/*
 * A libnvidia-ml.so.1 for tests that has one card and little more than its name: what later drivers
 * brought is not there.
 */
#include <stdio.h>

int nvmlInit_v2(void) {
  return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
  *count = 1;
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
  static int card;
  *device = &card;
  return index == 0 ? 0 : 6;
}

int nvmlDeviceGetUUID(void *device, char *uuid, unsigned length) {
  return device && snprintf(uuid, length, "GPU-old") > 0 ? 0 : 2;
}
