// SPDX-License-Identifier: Apache-2.0
// Launches as before CUDA 4.0: shape and parameters are set on the function first.
#include "module/function.h"
#include "module/launch.h"
#include "shim.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_LEGACY_BYTES = 4096 };

struct legacy_launch {
  unsigned int block[3];
  unsigned int sharedBytes;
  unsigned int parameterBytes;
  uint8_t parameters[MAX_LEGACY_BYTES];
};

static void legacy_launches_free(struct module *module) {
  for (uint32_t i = 0; i < module->madeCapacity; i++) {
    struct function *function = module->made[i];
    if (!function) continue;
    free(function->legacy);
    function->legacy = NULL;
  }
}
ON_MODULE_END(legacy_launches_free);

static CUresult find(CUfunction handle, struct legacy_launch **legacy) {
  struct context *context;
  struct function *function;
  CUresult result = context_current(&context);
  if (!result) result = function_find(handle, &context, &function);
  if (result) return result;
  if (!function->legacy) {
    function->legacy = calloc(1, sizeof *function->legacy);
    if (!function->legacy) return CUDA_ERROR_OUT_OF_MEMORY;
    for (int i = 0; i < 3; i++) function->legacy->block[i] = 1;
  }
  *legacy = function->legacy;
  return CUDA_SUCCESS;
}

CUresult shim_cuFuncSetBlockShape(CUfunction hfunc, int x, int y, int z) {
  struct legacy_launch *legacy;
  if (x <= 0 || y <= 0 || z <= 0) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = find(hfunc, &legacy);
  if (result) return result;
  legacy->block[0] = (unsigned int)x;
  legacy->block[1] = (unsigned int)y;
  legacy->block[2] = (unsigned int)z;
  return CUDA_SUCCESS;
}

CUresult shim_cuFuncSetSharedSize(CUfunction hfunc, unsigned int bytes) {
  struct legacy_launch *legacy;
  CUresult result = find(hfunc, &legacy);
  if (!result) legacy->sharedBytes = bytes;
  return result;
}

CUresult shim_cuParamSetSize(CUfunction hfunc, unsigned int numbytes) {
  struct legacy_launch *legacy;
  if (numbytes > MAX_LEGACY_BYTES) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = find(hfunc, &legacy);
  if (!result) legacy->parameterBytes = numbytes;
  return result;
}

CUresult shim_cuParamSetv(CUfunction hfunc, int offset, void *ptr, unsigned int numbytes) {
  struct legacy_launch *legacy;
  if (!ptr || offset < 0 || offset > MAX_LEGACY_BYTES ||
      numbytes > MAX_LEGACY_BYTES - (unsigned int)offset) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUresult result = find(hfunc, &legacy);
  if (!result) memcpy(legacy->parameters + offset, ptr, numbytes);
  return result;
}

CUresult shim_cuParamSeti(CUfunction hfunc, int offset, unsigned int value) {
  return shim_cuParamSetv(hfunc, offset, &value, sizeof value);
}

CUresult shim_cuParamSetf(CUfunction hfunc, int offset, float value) {
  return shim_cuParamSetv(hfunc, offset, &value, sizeof value);
}

CUresult shim_cuLaunchGridAsync(CUfunction f, int grid_width, int grid_height, CUstream hStream) {
  struct legacy_launch *legacy;
  if (grid_width <= 0 || grid_height <= 0) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = find(f, &legacy);
  if (result) return result;
  struct launch launch = {
      .grid = {(unsigned int)grid_width, (unsigned int)grid_height, 1},
      .block = {legacy->block[0], legacy->block[1], legacy->block[2]},
      .sharedBytes = legacy->sharedBytes,
      .stream = hStream,
  };
  return launch_kernel(f, &launch, NULL, legacy->parameters, legacy->parameterBytes);
}
