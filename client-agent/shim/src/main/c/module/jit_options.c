// SPDX-License-Identifier: Apache-2.0
#include "module/jit_options.h"

#include "core/log.h"

#include <string.h>

// CUjit_option
enum {
  JIT_WALL_TIME = 2,
  JIT_INFO_LOG_BUFFER = 3,
  JIT_INFO_LOG_BUFFER_SIZE = 4,
  JIT_ERROR_LOG_BUFFER = 5,
  JIT_ERROR_LOG_BUFFER_SIZE = 6,
  JIT_GLOBAL_SYMBOL_NAMES = 17,
  JIT_GLOBAL_SYMBOL_ADDRESSES = 18,
  JIT_GLOBAL_SYMBOL_COUNT = 19,
  JIT_REFERENCED_KERNEL_NAMES = 25,
  JIT_REFERENCED_VARIABLE_NAMES = 27,
  JIT_LAST = 64,
};

CUresult jit_read(struct jit *jit, unsigned int count, const CUjit_option *options, void **values) {
  memset(jit, 0, sizeof *jit);
  jit->begunNanos = now_nanos();
  if (count && (!options || !values)) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned int i = 0; i < count; i++) {
    uint64_t plain = (uintptr_t)values[i];
    switch (options[i]) {
      case JIT_WALL_TIME: {
        float none = 0;  // if nothing is compiled
        memcpy(&values[i], &none, sizeof none);
        jit->wallTime = &values[i];
        break;
      }
      case JIT_INFO_LOG_BUFFER:
        jit->infoLog = values[i];
        break;
      case JIT_INFO_LOG_BUFFER_SIZE:
        jit->infoCapacity = (unsigned int)plain;
        jit->infoFilled = &values[i];
        break;
      case JIT_ERROR_LOG_BUFFER:
        jit->errorLog = values[i];
        break;
      case JIT_ERROR_LOG_BUFFER_SIZE:
        jit->errorCapacity = (unsigned int)plain;
        jit->errorFilled = &values[i];
        break;
      case JIT_GLOBAL_SYMBOL_NAMES:
      case JIT_GLOBAL_SYMBOL_ADDRESSES:
      case JIT_GLOBAL_SYMBOL_COUNT:
      case JIT_REFERENCED_KERNEL_NAMES:
      case JIT_REFERENCED_VARIABLE_NAMES:
        break;  // pointers into the program; they only matter to linking
      default:
        if (options[i] < 0 || options[i] > JIT_LAST) return CUDA_ERROR_INVALID_VALUE;
        if (jit->count == MAX_JIT_VALUES) return CUDA_ERROR_INVALID_VALUE;
        jit->values[jit->count++] = (struct jit_value){(uint32_t)options[i], 0, plain};
        break;
    }
  }
  if (!jit->infoLog) jit->infoCapacity = 0;
  if (!jit->errorLog) jit->errorCapacity = 0;
  return CUDA_SUCCESS;
}

static void report(char *buffer, size_t capacity, void **filled, const void *text, size_t bytes) {
  size_t length = 0;
  if (buffer && capacity) {
    length = bytes < capacity - 1 ? bytes : capacity - 1;
    if (length) memcpy(buffer, text, length);
    buffer[length] = '\0';
  }
  if (filled) *filled = (void *)(uintptr_t)length;
}

void jit_report(const struct jit *jit, const void *info, size_t infoBytes, const void *error,
                size_t errorBytes) {
  report(jit->infoLog, jit->infoCapacity, jit->infoFilled, info, infoBytes);
  report(jit->errorLog, jit->errorCapacity, jit->errorFilled, error, errorBytes);
  if (jit->wallTime) {
    float milliseconds = (float)(now_nanos() - jit->begunNanos) / 1e6f;
    memcpy(jit->wallTime, &milliseconds, sizeof milliseconds);
  }
}

bool jit_has(const struct jit *jit, uint32_t option) {
  for (uint32_t i = 0; i < jit->count; i++) {
    if (jit->values[i].option == option) return true;
  }
  return false;
}
