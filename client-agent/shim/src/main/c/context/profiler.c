// SPDX-License-Identifier: Apache-2.0
// Profilers run beside the driver, which is on the server: starting and stopping one does nothing.
#include "context/context.h"
#include "shim.h"

CUresult shim_cuProfilerInitialize(const char *configFile, const char *outputFile,
                                   CUoutput_mode outputMode) {
  (void)configFile, (void)outputFile, (void)outputMode;
  return CUDA_SUCCESS;
}

CUresult shim_cuProfilerStart(void) {
  struct context *context;
  return context_current(&context);
}

CUresult shim_cuProfilerStop(void) {
  struct context *context;
  return context_current(&context);
}
