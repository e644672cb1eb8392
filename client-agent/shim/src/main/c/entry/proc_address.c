// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress: for a name and a CUDA version, the newest variant that is not newer than that.
#include "core/log.h"
#include "core/trace.h"
#include "proc_table.h"
#include "shim.h"
#include "transport/device_table.h"
#include "transport/session.h"

#include <stdatomic.h>
#include <string.h>

enum {
  FLAG_LEGACY_STREAM = 1,
  FLAG_PER_THREAD_STREAM = 2,
  STATUS_FOUND = 0,
  STATUS_NOT_FOUND = 1,
  STATUS_VERSION_TOO_LOW = 2,
  FIRST_PER_THREAD_STREAMS = 7000,
};

/** The first row of a name, or NULL. */
static const struct proc *first_row(const char *name) {
  int low = 0, high = PROC_COUNT;
  while (low < high) {
    int middle = (low + high) / 2;
    if (strcmp(procTable[middle].name, name) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < PROC_COUNT && strcmp(procTable[low].name, name) == 0 ? &procTable[low] : NULL;
}

/** The newest CUDA that a caller was made for, as far as is known. */
static _Atomic int newestCaller;

/** Says once, if the program was made for a newer CUDA than the driver runs. */
static void compare(int driverVersion) {
  static _Atomic int said;
  int caller = atomic_load_explicit(&newestCaller, memory_order_relaxed);
  // Within a major version, newer programs run on older drivers.
  if (caller / 1000 <= driverVersion / 1000 || atomic_exchange_explicit(&said, 1, memory_order_relaxed)) return;
  log_line(LOG_WARN,
           "the program is made for CUDA %d.%d, and the driver of its GPU's server runs programs up to CUDA %d: use a"
           " program made for that, or a GPU with a newer driver (gpupool run --select 'driver>=%d.0')",
           caller / 1000, caller % 1000 / 10, driverVersion / 1000, caller / 1000);
}

CUresult shim_cuDriverGetVersion(int *driverVersion) {
  if (!driverVersion) return CUDA_ERROR_INVALID_VALUE;
  // Programs ask before cuInit whether the driver is new enough, and the driver is the server's.
  bool known = session_attach() == CUDA_SUCCESS;
  *driverVersion = devices_cuda_version();
  if (known && *driverVersion < CUDA_API_VERSION) compare(*driverVersion);
  return CUDA_SUCCESS;
}

/**
 * Whether to give out a row: none that needs a newer driver than the server has, because callers take an entry point
 * that is there as one that works.
 */
static bool is_there(const struct proc *row) {
  int driver = devices_driver_version();
  return !row->ofDriver || !driver || row->version <= driver;
}

static bool is_of(const struct proc *row, const char *name) {
  return row && row < procTable + PROC_COUNT && strcmp(row->name, name) == 0;
}

/** The least version with which a name is given out. Streams of threads came with CUDA 7.0. */
static int least_version(const char *name, cuuint64_t flags) {
  bool ofThreads = false;
  for (const struct proc *row = first_row(name); is_of(row, name); row++) {
    ofThreads |= flags == FLAG_PER_THREAD_STREAM && row->perThread != row->legacy;
  }
  return ofThreads ? FIRST_PER_THREAD_STREAMS : 0;
}

CUresult shim_cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult *symbolStatus) {
  if (!symbol || !pfn || flags > FLAG_PER_THREAD_STREAM) return CUDA_ERROR_INVALID_VALUE;
  *pfn = NULL;
  if (cudaVersion > atomic_load_explicit(&newestCaller, memory_order_relaxed)) {
    atomic_store_explicit(&newestCaller, cudaVersion, memory_order_relaxed);
  }
  int status = STATUS_NOT_FOUND, least = least_version(symbol, flags);
  for (const struct proc *row = first_row(symbol); is_of(row, symbol); row++) {
    if (!is_there(row)) continue;
    if (cudaVersion >= row->version && cudaVersion >= least) {
      *pfn = flags == FLAG_PER_THREAD_STREAM ? row->perThread : row->legacy;
      status = STATUS_FOUND;
    } else if (status == STATUS_NOT_FOUND) {
      status = STATUS_VERSION_TOO_LOW;
    }
  }
  if (tracing() && status != STATUS_FOUND) {
    trace_note("no entry point", "%s of CUDA %d", symbol, cudaVersion);
  }
  if (symbolStatus) *symbolStatus = status;
  return CUDA_SUCCESS;
}

CUresult shim_cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags) {
  void *found;
  if (!pfn) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = shim_cuGetProcAddress_v2(symbol, &found, cudaVersion, flags, NULL);
  if (result) return result;
  if (!found) return CUDA_ERROR_NOT_FOUND;
  *pfn = found;
  return CUDA_SUCCESS;
}
