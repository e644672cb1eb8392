// SPDX-License-Identifier: Apache-2.0
// The part of NCCL that these programs use, so that they need no toolkit. Functions are looked up in libnccl.so.2, or
// another library, when the program says so.
#pragma once

#include "../driver-api/driver.h"

typedef struct {
  char bytes[128];
} ncclUniqueId;
typedef struct ncclComm *ncclComm_t;

enum {
  NCCL_INT8,
  NCCL_UINT8,
  NCCL_INT32,
  NCCL_UINT32,
  NCCL_INT64,
  NCCL_UINT64,
  NCCL_FLOAT16,
  NCCL_FLOAT32,
  NCCL_FLOAT64,
  NCCL_BFLOAT16,
  NCCL_FLOAT8E4M3,
  NCCL_FLOAT8E5M2,
  NCCL_TYPES
};

enum { NCCL_SUM, NCCL_PROD, NCCL_MAX, NCCL_MIN, NCCL_AVG, NCCL_PREMUL_SUM, NCCL_OPERATORS };

enum { NCCL_SCALAR_DEVICE, NCCL_SCALAR_HOST };

#define NCCL_FUNCTIONS(X) \
  X(ncclGetVersion, (int *version)) \
  X(ncclGetUniqueId, (ncclUniqueId * id)) \
  X(ncclCommInitAll, (ncclComm_t * comms, int count, const int *devices)) \
  X(ncclCommInitRank, (ncclComm_t * comm, int ranks, ncclUniqueId id, int rank)) \
  X(ncclCommSplit, (ncclComm_t comm, int color, int key, ncclComm_t *made, void *config)) \
  X(ncclCommCount, (ncclComm_t comm, int *count)) \
  X(ncclCommUserRank, (ncclComm_t comm, int *rank)) \
  X(ncclCommGetAsyncError, (ncclComm_t comm, int *result)) \
  X(ncclCommFinalize, (ncclComm_t comm)) \
  X(ncclCommDestroy, (ncclComm_t comm)) \
  X(ncclCommAbort, (ncclComm_t comm)) \
  X(ncclGroupStart, (void)) \
  X(ncclGroupEnd, (void)) \
  X(ncclRedOpCreatePreMulSum, (int *op, void *scalar, int type, int residence, ncclComm_t comm)) \
  X(ncclRedOpDestroy, (int op, ncclComm_t comm)) \
  X(ncclAllReduce, (CUdeviceptr send, CUdeviceptr receive, size_t count, int type, int op, ncclComm_t comm, CUstream stream)) \
  X(ncclBroadcast, (CUdeviceptr send, CUdeviceptr receive, size_t count, int type, int root, ncclComm_t comm, CUstream stream)) \
  X(ncclReduce, (CUdeviceptr send, CUdeviceptr receive, size_t count, int type, int op, int root, ncclComm_t comm, CUstream stream)) \
  X(ncclAllGather, (CUdeviceptr send, CUdeviceptr receive, size_t count, int type, ncclComm_t comm, CUstream stream)) \
  X(ncclReduceScatter, (CUdeviceptr send, CUdeviceptr receive, size_t count, int type, int op, ncclComm_t comm, CUstream stream)) \
  X(ncclAlltoAll, (CUdeviceptr send, CUdeviceptr receive, size_t count, int type, ncclComm_t comm, CUstream stream)) \
  X(ncclGather, (CUdeviceptr send, CUdeviceptr receive, size_t count, int type, int root, ncclComm_t comm, CUstream stream)) \
  X(ncclScatter, (CUdeviceptr send, CUdeviceptr receive, size_t count, int type, int root, ncclComm_t comm, CUstream stream)) \
  X(ncclSend, (CUdeviceptr send, size_t count, int type, int peer, ncclComm_t comm, CUstream stream)) \
  X(ncclRecv, (CUdeviceptr receive, size_t count, int type, int peer, ncclComm_t comm, CUstream stream))

#define NCCL_DECLARE(name, parameters) static int(*name) parameters __attribute__((unused));
NCCL_FUNCTIONS(NCCL_DECLARE)

static const char *(*ncclGetErrorString)(int result);
static const char *(*ncclGetLastError)(ncclComm_t comm);

static void *nccl_symbol(void *library, const char *name) {
  void *found = dlsym(library, name);
  if (found == NULL) {
    fail("%s", dlerror());
  }
  return found;
}

static inline void nccl_load(const char *path) {
  void *library = dlopen(path, RTLD_NOW);
  if (library == NULL) {
    fail("%s", dlerror());
  }
#define NCCL_LOOK_UP(name, parameters) *(void **)&name = nccl_symbol(library, #name);
  NCCL_FUNCTIONS(NCCL_LOOK_UP)
  *(void **)&ncclGetErrorString = nccl_symbol(library, "ncclGetErrorString");
  *(void **)&ncclGetLastError = nccl_symbol(library, "ncclGetLastError");
}

static inline void nccl_check(int result, const char *call, const char *file, int line) {
  if (result != 0) {
    fail("%s:%d: %s is %d: %s: %s", file, line, call, result, ncclGetErrorString(result), ncclGetLastError(NULL));
  }
}

#define NCCL_CHECK(call) nccl_check((call), #call, __FILE__, __LINE__)
