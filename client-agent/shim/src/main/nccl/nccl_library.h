// SPDX-License-Identifier: Apache-2.0
// Types of NCCL's binary interface, as far as gpupool's libnccl.so.2 has them, and the way to gpupool's libcuda.so.1,
// which does the work.
#pragma once

#include "collective/nccl_interface.h"

#include <stddef.h>
#include <stdint.h>

enum {
  NCCL_VERSION = 23007,
  NCCL_CONFIG_MAGIC = (int)0xcafebeef,
  NCCL_UNDEFINED = INT32_MIN,
};

typedef int ncclResult_t;
typedef struct communicator *ncclComm_t;

/** The identifier of a communicator, which one rank makes and tells the others. */
typedef struct {
  char bytes[NCCL_ID_BYTES];
} ncclUniqueId;

/** The beginning of ncclConfig_t, which all of its versions have. */
typedef struct {
  size_t bytes;
  int magic;
  unsigned version;
  int blocking;
} ncclConfig_t;

/** A group of ranks, as kernels count them. */
typedef struct {
  int ranks, rank, stride;
} ncclTeam_t;

/** Begins the definition of an exported function, which has a second name with a p before it, for profilers. */
#define EXPORT(type, name, ...)                                                                    \
  __attribute__((visibility("default"))) type name(__VA_ARGS__);                                   \
  __attribute__((visibility("default"), alias(#name))) type p##name(__VA_ARGS__);                  \
  type name(__VA_ARGS__)

/** The table of gpupool's libcuda.so.1; NULL, with a line on stderr, if the process has another one. */
const struct nccl_table *library_table(void);

/** The result of a function that gpupool does not have, of which stderr hears once. */
ncclResult_t library_refuse(const char *function, const char *reason, _Atomic int *told);
