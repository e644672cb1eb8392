// SPDX-License-Identifier: Apache-2.0
// The driver's error log: the client has none, so callbacks never run.
#include "shim.h"

#include <stdatomic.h>
#include <stdio.h>

static _Atomic uint64_t registered;

CUresult shim_cuLogsRegisterCallback(CUlogsCallback callbackFunc, void *userData,
                                     CUlogsCallbackHandle *callback_out) {
  (void)userData;
  if (!callbackFunc) return CUDA_ERROR_INVALID_VALUE;
  uint64_t number = atomic_fetch_add_explicit(&registered, 1, memory_order_relaxed) + 1;
  if (callback_out) *callback_out = (CUlogsCallbackHandle)(uintptr_t)number;
  return CUDA_SUCCESS;
}

CUresult shim_cuLogsUnregisterCallback(CUlogsCallbackHandle callback) {
  uint64_t number = (uintptr_t)callback;
  bool known = number && number <= atomic_load_explicit(&registered, memory_order_relaxed);
  return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult shim_cuLogsDumpToFile(CUlogIterator *iterator, const char *pathToFile,
                               unsigned int flags) {
  (void)iterator;
  if (!pathToFile || flags) return CUDA_ERROR_INVALID_VALUE;
  FILE *file = fopen(pathToFile, "ae");
  if (!file) return CUDA_ERROR_INVALID_VALUE;
  fclose(file);
  return CUDA_SUCCESS;
}

CUresult shim_cuLogsDumpToMemory(CUlogIterator *iterator, char *buffer, size_t *size,
                                 unsigned int flags) {
  (void)iterator;
  if (!buffer || !size || !*size || flags) return CUDA_ERROR_INVALID_VALUE;
  buffer[0] = '\0';
  *size = 0;
  return CUDA_SUCCESS;
}
