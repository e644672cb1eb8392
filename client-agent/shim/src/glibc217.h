// SPDX-License-Identifier: Apache-2.0
//
// Included before every source of the shim (-include), so that what is built with the headers of a new
// glibc runs on glibc 2.17. build.sh adds the other half: .symver pins for every function of which the
// build machine's glibc has a version of 2.17 or older beside a newer one (pthread_*, dl*, sem_*, ...).
#ifndef GPUPOOL_GLIBC217_H
#define GPUPOOL_GLIBC217_H

#include <features.h>

// From 2.38 on, headers turn strtol and its kin into __isoc23_* when _GNU_SOURCE is set.
#undef __GLIBC_USE_C2X_STRTOL
#define __GLIBC_USE_C2X_STRTOL 0
#undef __GLIBC_USE_C23_STRTOL
#define __GLIBC_USE_C23_STRTOL 0

// Before 2.33 stat and its kin were inline calls of these, which every glibc has kept.
#include <sys/stat.h>

#ifdef __x86_64__
#define GPUPOOL_STAT_VERSION 1
#else
#define GPUPOOL_STAT_VERSION 0
#endif

extern int __xstat(int version, const char *path, struct stat *result);
extern int __lxstat(int version, const char *path, struct stat *result);
extern int __fxstat(int version, int descriptor, struct stat *result);

#define stat(path, result) __xstat(GPUPOOL_STAT_VERSION, path, result)
#define lstat(path, result) __lxstat(GPUPOOL_STAT_VERSION, path, result)
#define fstat(descriptor, result) __fxstat(GPUPOOL_STAT_VERSION, descriptor, result)

#endif
