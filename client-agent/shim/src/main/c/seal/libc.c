// SPDX-License-Identifier: Apache-2.0
// Functions of the C library that libcrypto calls and glibc 2.17 does not have: build.sh renames the calls.
#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

struct stat;

int gpupool_fstat(int descriptor, struct stat *status);
int gpupool_stat(const char *path, struct stat *status);
int gpupool_getentropy(void *to, size_t bytes);

/** The library reads no file: neither its configuration nor certificates. */
int gpupool_fstat(int descriptor, struct stat *status) {
  (void)descriptor;
  (void)status;
  errno = ENOSYS;
  return -1;
}

int gpupool_stat(const char *path, struct stat *status) {
  (void)path;
  (void)status;
  errno = ENOSYS;
  return -1;
}

int gpupool_getentropy(void *to, size_t bytes) {
  return syscall(SYS_getrandom, to, bytes, 0) == (long)bytes ? 0 : -1;
}
