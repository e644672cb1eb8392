// SPDX-License-Identifier: Apache-2.0
// The entry points that answer with an error. Whatever arguments they are called with, only the first
// one is looked at, and only where it is a device.
#include "lease.h"

static nvmlReturn_t first_device(nvmlDevice_t device) { return lease_check(device); }

static nvmlReturn_t first_other(nvmlDevice_t ignored) {
  (void)ignored;
  return lease_is_open() ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

#define STUB(name, first, answer)                   \
  EXPORTED nvmlReturn_t name(nvmlDevice_t argument); \
  nvmlReturn_t name(nvmlDevice_t argument) {         \
    nvmlReturn_t result = first_##first(argument);   \
    return result ? result : answer;                 \
  }
#define TOPIC(name)
#define ANSWERED(name, note)
#define UNSUPPORTED(name, first, reason) STUB(name, first, NVML_ERROR_NOT_SUPPORTED)
#define REFUSED(name, first) STUB(name, first, NVML_ERROR_NO_PERMISSION)
#include "functions.inc"
