// SPDX-License-Identifier: Apache-2.0
// Definitions that the hand-written entry points share.
#pragma once

#include "lease.h"

#include <stdio.h>
#include <string.h>

/** Defines an exported entry point. */
#define NVML(name, ...)                     \
  EXPORTED nvmlReturn_t name(__VA_ARGS__); \
  nvmlReturn_t name(__VA_ARGS__)

/** Leaves the function when this is an error. */
#define TRY(call)                \
  do {                           \
    nvmlReturn_t tried = (call); \
    if (tried) return tried;     \
  } while (0)

/** Leaves the function when an output has nowhere to go. */
#define REQUIRE(pointer) \
  do {                   \
    if (!(pointer)) return NVML_ERROR_INVALID_ARGUMENT; \
  } while (0)

/** Copies a text with its NUL, if it fits. */
static inline nvmlReturn_t put_text(char *to, unsigned length, const char *text) {
  if (!to) return NVML_ERROR_INVALID_ARGUMENT;
  if (strlen(text) >= length) return NVML_ERROR_INSUFFICIENT_SIZE;
  strcpy(to, text);
  return NVML_SUCCESS;
}

/** Stores a number that does not depend on the device. */
static inline nvmlReturn_t put_number(nvmlDevice_t device, unsigned *to, unsigned number) {
  TRY(lease_check(device));
  REQUIRE(to);
  *to = number;
  return NVML_SUCCESS;
}
