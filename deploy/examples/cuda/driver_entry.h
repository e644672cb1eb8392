// SPDX-License-Identifier: Apache-2.0
// Calls of the driver API: found through the runtime, so that no program here links with libcuda.
#pragma once

#include <cuda.h>

#include "check.h"

// The driver's function of a name, in the form that cuda.h declares.
#define ENTRY(name) driver_entry<decltype(name)>(#name)

#define DRIVER(call) driver_result(CUDA_SUCCESS, (call), #call, __FILE__, __LINE__)
#define REFUSED(result, call) driver_result((result), (call), #call, __FILE__, __LINE__)

template <typename Function>
Function *driver_entry(const char *name) {
  void *found = nullptr;
  cudaDriverEntryPointQueryResult how;
  CHECK(cudaGetDriverEntryPointByVersion(name, &found, CUDA_VERSION, cudaEnableDefault, &how));
  REQUIRE(found && how == cudaDriverEntryPointSuccess, "there is no %s", name);
  return reinterpret_cast<Function *>(found);
}

inline void driver_result(
    CUresult expected, CUresult result, const char *call, const char *file, int line) {
  if (result != expected) {
    const char *name = "?";
    ENTRY(cuGetErrorName)(result, &name);
    fail("%s:%d: %s is %d %s, not %d", file, line, call, result, name, expected);
  }
}
