// SPDX-License-Identifier: Apache-2.0
// The options of a just-in-time compilation: plain values travel, log buffers are filled here.
#pragma once

#include "core/driver.h"

struct jit_value {
  uint32_t option, zero;
  uint64_t value;
};

enum { MAX_JIT_VALUES = 32, JIT_TARGET = 9 /* CUjit_option */ };

struct jit {
  uint32_t count;
  struct jit_value values[MAX_JIT_VALUES];
  char *infoLog, *errorLog;
  size_t infoCapacity, errorCapacity;
  void **infoFilled, **errorFilled;  // where the number of bytes filled goes
  void **wallTime;                   // where the milliseconds go, as a float in place of the value
  uint64_t begunNanos;
};

CUresult jit_read(struct jit *jit, unsigned int count, const CUjit_option *options, void **values);

/** Returns whether the program gave this option. */
bool jit_has(const struct jit *jit, uint32_t option);

/** Hands the logs over to the program. */
void jit_report(const struct jit *jit, const void *info, size_t infoBytes, const void *error,
                size_t errorBytes);
