// SPDX-License-Identifier: Apache-2.0
// Types of NCCL's binary interface, as far as gpupool's libnccl.so.2 has them, and the way to gpupool's libcuda.so.1,
// which does the work.
#pragma once

#include "collective/nccl_interface.h"

#include <stddef.h>
#include <stdint.h>

// Containers preload this library into all of their programs, and some of these do without libdl and libpthread, where
// an older glibc has these functions. A program that uses CUDA has both.
#pragma weak dladdr
#pragma weak dladdr1
#pragma weak dlerror
#pragma weak dlinfo
#pragma weak dlsym
#pragma weak dlvsym
#pragma weak pthread_once

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

/** Begins the definition of what gpupool does for an exported function; entries.c exports the function itself. */
#define OWN(type, name, ...)    \
  type own_##name(__VA_ARGS__); \
  type own_##name(__VA_ARGS__)

/** The table of gpupool's libcuda.so.1; NULL if the process has another one, or none. */
const struct nccl_table *library_table(void);

/** Why library_table has found none; NULL: it has, or was not called yet. */
const char *library_problem(void);

/** The result of a function that gpupool does not have, of which stderr hears once. */
ncclResult_t library_refuse(const char *function, const char *reason, _Atomic int *told);

/** Returns whether the program wants NVIDIA's library, whatever the GPUs are. */
int library_is_off(void);

/** Takes note of what a program opens as NCCL; returns what is to be opened. */
const char *choice_opens(const char *file);

/** glibc's dlopen. */
void *glibc_open(const char *file, int mode);
