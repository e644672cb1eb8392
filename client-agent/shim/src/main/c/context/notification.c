// SPDX-License-Identifier: Apache-2.0
// Notices from the driver. The only one there is says that a program uses more memory than it should;
// here an allocation beyond the lease fails instead, so the callback never runs.
#include "shim.h"
#include "transport/device_table.h"

#include <stdatomic.h>

enum { MAX_REGISTERED = 1024 };

/** Bit i: number i + 1 is registered; the number is the handle. */
static _Atomic uint64_t registered[MAX_REGISTERED / 64];

CUresult shim_cuDeviceRegisterAsyncNotification(CUdevice device, CUasyncCallback callbackFunc,
                                                void *userData, CUasyncCallbackHandle *callback) {
  (void)userData;
  if (!device_find(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (!callbackFunc || !callback) return CUDA_ERROR_INVALID_VALUE;
  for (uintptr_t i = 0; i < MAX_REGISTERED; i++) {
    uint64_t bit = UINT64_C(1) << i % 64;
    if (!(atomic_fetch_or_explicit(&registered[i / 64], bit, memory_order_relaxed) & bit)) {
      *callback = (CUasyncCallbackHandle)(i + 1);
      return CUDA_SUCCESS;
    }
  }
  return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult shim_cuDeviceUnregisterAsyncNotification(CUdevice device,
                                                  CUasyncCallbackHandle callback) {
  uintptr_t i = (uintptr_t)callback - 1;
  if (!device_find(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (i >= MAX_REGISTERED) return CUDA_ERROR_INVALID_VALUE;
  uint64_t bit = UINT64_C(1) << i % 64;
  uint64_t before = atomic_fetch_and_explicit(&registered[i / 64], ~bit, memory_order_relaxed);
  return before & bit ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
