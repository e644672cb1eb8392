// SPDX-License-Identifier: Apache-2.0
// Initialization and devices.
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char connections[8]; /* CUDA_DEVICE_MAX_CONNECTIONS at cuInit */

/* A word of CUDA_VISIBLE_DEVICES; NULL beyond the last, "" if the variable is not set. */
static const char *visible(int index) {
  const char *at = getenv("CUDA_VISIBLE_DEVICES");
  if (!at) return "";
  while (index-- > 0) {
    at = strchr(at, ',');
    if (!at) return NULL;
    at++;
  }
  return at;
}

static int devices(void) {
  int count = setting("TESTCUDA_DEVICES", 2);
  while (count > 0 && !visible(count - 1)) count--;
  return count;
}

Result cuInit(unsigned flags) {
  const char *result = getenv("TESTCUDA_INIT");
  char text[16] = "";
  FILE *file;
  if (result && *result == '/') {
    file = fopen(result, "r");
    if (file) {
      if (!fgets(text, sizeof text, file)) text[0] = 0;
      fclose(file);
    }
    result = text;
  }
  if (result && atoi(result)) return (Result)atoi(result);
  initialized = 1;
  if (getenv("CUDA_DEVICE_MAX_CONNECTIONS"))
    snprintf(connections, sizeof connections, "%s", getenv("CUDA_DEVICE_MAX_CONNECTIONS"));
  return flags ? INVALID_VALUE : SUCCESS;
}

Result cuGetErrorName(Result error, const char **name) {
  if (error != 803) return INVALID_VALUE;
  *name = "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH";
  return SUCCESS;
}

Result cuDriverGetVersion(int *version) { *version = 13000; return SUCCESS; }
Result cuDeviceGetCount(int *count) { *count = devices(); return SUCCESS; }

Result check_device(int device) {
  return device < 0 || device >= devices() ? INVALID_DEVICE : SUCCESS;
}

Result cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return check_device(ordinal);
}

Result cuDeviceGetName(char *name, int length, int device) {
  const char *word = visible(device), *threads = getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
  if (check_device(device)) return check_device(device);
  if (*word) {
    snprintf(name, (size_t)length, "Test GPU %.*s", (int)strcspn(word, ","), word);
  } else {
    snprintf(name, (size_t)length, "Test GPU %d", device);
  }
  if (threads) {
    size_t end = strlen(name);
    snprintf(name + end, (size_t)length - end, ", %s %% of threads", threads);
  }
  if (*connections) {
    size_t end = strlen(name);
    snprintf(name + end, (size_t)length - end, ", %s connections", connections);
  }
  return SUCCESS;
}

/* The UUID is the one in CUDA_VISIBLE_DEVICES, if there is one. */
Result cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
  const char *word = visible(device);
  memset(uuid, 0x74, 16);
  uuid[15] = (unsigned char)device;
  if (word && (!strncmp(word, "GPU-", 4) || !strncmp(word, "MIG-", 4))) {
    const char *at = word + 4;
    for (int i = 0; i < 16; i++, at += 2) {
      if (*at == '-') at++;
      unsigned byte;
      if (sscanf(at, "%2x", &byte) != 1) break;
      uuid[i] = (unsigned char)byte;
    }
  }
  return check_device(device);
}

Result cuDeviceGetPCIBusId(char *id, int length, int device) {
  snprintf(id, (size_t)length, "0000:%02x:00.0", device + 1);
  return check_device(device);
}

Result cuDeviceTotalMem_v2(size_t *bytes, int device) {
  *bytes = memory_size();
  return check_device(device);
}

Result cuDeviceGetAttribute(int *value, int attribute, int device) {
  switch (attribute) {
  case 1: *value = 1024; break;
  case 10: *value = 32; break;
  case 16: *value = 4; break;
  case 20: *value = setting("TESTCUDA_COMPUTE_MODE", 0); break;
  case 88: case 100: *value = setting("TESTCUDA_PAGEABLE_ACCESS", 0); break;
  case 75: *value = 9; break;
  case 76: *value = 0; break;
  case 33: *value = device + 1; break;
  default:
    if (attribute <= 0 || attribute > 140) return INVALID_VALUE;
    *value = 0;
  }
  return check_device(device);
}
