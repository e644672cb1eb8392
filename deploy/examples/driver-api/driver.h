// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver API that these programs use, so that they need no toolkit: gcc is enough.
// Functions are looked up in libcuda.so.1 when the program starts; with -DDRIVER_LINKED the program is linked to it.
#pragma once

#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;

enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CU_STREAM_NON_BLOCKING = 1,
  CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
  CU_EVENT_DISABLE_TIMING = 2
};

// name, its symbol in the library, parameters
#define DRIVER_FUNCTIONS(X) \
  X(cuInit, cuInit, (unsigned flags)) \
  X(cuDriverGetVersion, cuDriverGetVersion, (int *version)) \
  X(cuGetErrorName, cuGetErrorName, (CUresult error, const char **name)) \
  X(cuDeviceGetCount, cuDeviceGetCount, (int *count)) \
  X(cuDeviceGet, cuDeviceGet, (CUdevice *device, int ordinal)) \
  X(cuDeviceGetName, cuDeviceGetName, (char *name, int length, CUdevice device)) \
  X(cuDeviceGetAttribute, cuDeviceGetAttribute, (int *value, int attribute, CUdevice device)) \
  X(cuDeviceTotalMem, cuDeviceTotalMem_v2, (size_t *bytes, CUdevice device)) \
  X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext *context, CUdevice device)) \
  X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (CUdevice device)) \
  X(cuCtxCreate, cuCtxCreate_v2, (CUcontext *context, unsigned flags, CUdevice device)) \
  X(cuCtxDestroy, cuCtxDestroy_v2, (CUcontext context)) \
  X(cuCtxSetCurrent, cuCtxSetCurrent, (CUcontext context)) \
  X(cuCtxSynchronize, cuCtxSynchronize, (void)) \
  X(cuModuleLoadData, cuModuleLoadData, (CUmodule *module, const void *image)) \
  X(cuModuleLoadDataEx, cuModuleLoadDataEx, \
    (CUmodule *module, const void *image, unsigned count, int *options, void **values)) \
  X(cuModuleUnload, cuModuleUnload, (CUmodule module)) \
  X(cuModuleGetFunction, cuModuleGetFunction, \
    (CUfunction *function, CUmodule module, const char *name)) \
  X(cuMemGetInfo, cuMemGetInfo_v2, (size_t *free_bytes, size_t *total_bytes)) \
  X(cuMemAlloc, cuMemAlloc_v2, (CUdeviceptr *pointer, size_t bytes)) \
  X(cuMemFree, cuMemFree_v2, (CUdeviceptr pointer)) \
  X(cuMemAllocManaged, cuMemAllocManaged, (CUdeviceptr *pointer, size_t bytes, unsigned flags)) \
  X(cuMemAllocHost, cuMemAllocHost_v2, (void **pointer, size_t bytes)) \
  X(cuMemFreeHost, cuMemFreeHost, (void *pointer)) \
  X(cuMemcpyHtoD, cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t bytes)) \
  X(cuMemcpyDtoH, cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t bytes)) \
  X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, \
    (CUdeviceptr to, const void *from, size_t bytes, CUstream stream)) \
  X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, \
    (void *to, CUdeviceptr from, size_t bytes, CUstream stream)) \
  X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, \
    (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)) \
  X(cuMemsetD32, cuMemsetD32_v2, (CUdeviceptr pointer, unsigned value, size_t count)) \
  X(cuStreamCreate, cuStreamCreate, (CUstream *stream, unsigned flags)) \
  X(cuStreamDestroy, cuStreamDestroy_v2, (CUstream stream)) \
  X(cuStreamSynchronize, cuStreamSynchronize, (CUstream stream)) \
  X(cuStreamQuery, cuStreamQuery, (CUstream stream)) \
  X(cuStreamWaitEvent, cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags)) \
  X(cuEventCreate, cuEventCreate, (CUevent *event, unsigned flags)) \
  X(cuEventDestroy, cuEventDestroy_v2, (CUevent event)) \
  X(cuEventRecord, cuEventRecord, (CUevent event, CUstream stream)) \
  X(cuEventSynchronize, cuEventSynchronize, (CUevent event)) \
  X(cuLaunchKernel, cuLaunchKernel, \
    (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
     unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void **parameters, \
     void **extra)) \
  X(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel, \
    (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
     unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void **parameters)) \
  X(cuStreamBeginCapture, cuStreamBeginCapture_v2, (CUstream stream, int mode)) \
  X(cuStreamEndCapture, cuStreamEndCapture, (CUstream stream, CUgraph *graph)) \
  X(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, \
    (CUgraphExec *executable, CUgraph graph, unsigned long long flags)) \
  X(cuGraphLaunch, cuGraphLaunch, (CUgraphExec executable, CUstream stream))

#ifdef DRIVER_LINKED
// Names and symbols differ where a function has changed over the years; cuda.h does the same.
#define DRIVER_DECLARE(name, symbol, parameters) extern CUresult name parameters __asm__(#symbol);
#else
#define DRIVER_DECLARE(name, symbol, parameters) \
  static CUresult(*name) parameters __attribute__((unused));
#endif
DRIVER_FUNCTIONS(DRIVER_DECLARE)

__attribute__((noreturn, format(printf, 1, 2))) static inline void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  printf("FAILED ");
  vprintf(format, arguments);
  printf("\n");
  va_end(arguments);
  exit(1);
}

#ifndef DRIVER_LINKED
__attribute__((constructor)) static void driver_load(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == NULL) {
    fail("%s", dlerror());
  }
#define DRIVER_LOOK_UP(name, symbol, parameters) \
  if ((*(void **)&name = dlsym(library, #symbol)) == NULL) { \
    fail("%s", dlerror()); \
  }
  DRIVER_FUNCTIONS(DRIVER_LOOK_UP)
}
#endif

static inline void driver_check(CUresult result, const char *call, const char *file, int line) {
  if (result != CUDA_SUCCESS) {
    const char *name = "unknown";
    cuGetErrorName(result, &name);
    fail("%s:%d: %s is %d %s", file, line, call, result, name);
  }
}

#define CHECK(call) driver_check((call), #call, __FILE__, __LINE__)

// The text of a file, ended by a zero byte.
static inline char *read_text(const char *path) {
  FILE *file = fopen(path, "r");
  if (file == NULL) {
    fail("cannot read %s: %m", path);
  }
  size_t bytes = 0;
  char *text = NULL;
  for (size_t room = 1 << 16, got = 1; got > 0; room *= 2) {
    text = realloc(text, room + 1);
    got = text == NULL ? 0 : fread(text + bytes, 1, room - bytes, file);
    bytes += got;
  }
  fclose(file);
  if (text == NULL) {
    fail("no memory for %s", path);
  }
  text[bytes] = 0;
  return text;
}

// The first device with its primary context made current, and the module in a file of PTX.
static inline CUmodule driver_start(const char *ptx_path) {
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  char *text = read_text(ptx_path);
  CHECK(cuModuleLoadData(&module, text));
  free(text);
  return module;
}
