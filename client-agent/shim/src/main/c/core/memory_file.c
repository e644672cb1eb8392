// SPDX-License-Identifier: Apache-2.0
#include "core/memory_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// Constants that C libraries before 2.27 do not have.
#ifndef SYS_memfd_create
#ifdef __aarch64__
#define SYS_memfd_create 279
#else
#define SYS_memfd_create 319
#endif
#endif
enum { MFD_CLOEXEC_ = 1, MFD_ALLOW_SEALING_ = 2, F_ADD_SEALS_ = 1033 };

bool memory_file_may_have(uint64_t bytes) {
  struct rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur);
}

int memory_file_make(const char *name) {
  return (int)syscall(SYS_memfd_create, name, MFD_CLOEXEC_ | MFD_ALLOW_SEALING_);
}

bool memory_file_seal(int file, enum memory_file_seals seals) { return fcntl(file, F_ADD_SEALS_, seals) == 0; }
