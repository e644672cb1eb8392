// SPDX-License-Identifier: Apache-2.0
// The functions that need no other rank: versions, identifiers, texts of errors, and memory.
#include "nccl_library.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

OWN(ncclResult_t, ncclGetVersion, int *version) {
  if (!version) return NCCL_INVALID_ARGUMENT;
  *version = NCCL_VERSION;
  return NCCL_SUCCESS;
}

OWN(ncclResult_t, ncclGetUniqueId, ncclUniqueId *uniqueId) {
  static const char tag[16] = "gpupool-nccl-id";
  size_t done = sizeof tag;
  if (!uniqueId) return NCCL_INVALID_ARGUMENT;
  memcpy(uniqueId->bytes, tag, sizeof tag);
  int random = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  if (random < 0) return NCCL_SYSTEM_ERROR;
  while (done < sizeof uniqueId->bytes) {
    ssize_t got = read(random, uniqueId->bytes + done, sizeof uniqueId->bytes - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += (size_t)got;
  }
  close(random);
  return done == sizeof uniqueId->bytes ? NCCL_SUCCESS : NCCL_SYSTEM_ERROR;
}

OWN(const char *, ncclGetErrorString, ncclResult_t result) {
  static const char *const texts[] = {
      [NCCL_SUCCESS] = "no error",
      [NCCL_CUDA_ERROR] = "a CUDA call failed: ncclGetLastError names it",
      [NCCL_SYSTEM_ERROR] = "a call of the system failed, or libcuda.so.1 is not gpupool's",
      [NCCL_INTERNAL_ERROR] = "an error inside gpupool",
      [NCCL_INVALID_ARGUMENT] = "an argument is not valid: ncclGetLastError says which",
      [NCCL_INVALID_USAGE] = "NCCL is not used as it may be: ncclGetLastError says how",
      [NCCL_REMOTE_ERROR] = "another rank has failed, or cannot be reached",
      [NCCL_IN_PROGRESS] = "the operation is in progress",
      [NCCL_TIMEOUT] = "the operation took too long",
  };
  return result >= 0 && (size_t)result < sizeof texts / sizeof *texts ? texts[result] : "an unknown result";
}

OWN(const char *, ncclGetLastError, ncclComm_t comm) {
  const struct nccl_table *table = library_table();
  return table ? table->lastError(comm) : "gpupool's libnccl.so.2 needs gpupool's libcuda.so.1";
}

OWN(ncclResult_t, ncclMemAlloc, void **ptr, size_t size) {
  const struct nccl_table *table = library_table();
  return table ? table->allocate(ptr, size) : NCCL_SYSTEM_ERROR;
}

OWN(ncclResult_t, ncclMemFree, void *ptr) {
  const struct nccl_table *table = library_table();
  return table ? table->release(ptr) : NCCL_SYSTEM_ERROR;
}

/** Returns whether a communicator can be used. */
static ncclResult_t check(ncclComm_t comm) {
  const struct nccl_table *table = library_table();
  int ranks;
  return table ? table->describe(comm, &ranks, NULL, NULL) : NCCL_SYSTEM_ERROR;
}

// Registered memory is no faster here, and no slower.

OWN(ncclResult_t, ncclCommRegister, const ncclComm_t comm, void *buff, size_t size, void **handle) {
  ncclResult_t result = check(comm);
  if (!result && (!buff || !size || !handle)) {
    result = library_table()->refuse(NCCL_INVALID_ARGUMENT, "ncclCommRegister: an argument is NULL or 0");
  }
  if (!result) *handle = buff;
  return result;
}

OWN(ncclResult_t, ncclCommDeregister, const ncclComm_t comm, void *handle) {
  (void)handle;
  return check(comm);
}
