// SPDX-License-Identifier: Apache-2.0
// The functions of glibc for libraries that stand in for one of them by --defsym.
#pragma once

#include <dlfcn.h>
#include <stdatomic.h>

#ifdef __x86_64__
#define FIRST_GLIBC "GLIBC_2.2.5"
#else
#define FIRST_GLIBC "GLIBC_2.17"
#endif

/** The function of a name that comes after the calling library, looked up once. */
static inline void *glibc_symbol(_Atomic(void *) *known, const char *name) {
  void *found = atomic_load(known);
  if (!found) {
    found = dlvsym(RTLD_NEXT, name, FIRST_GLIBC);
    atomic_store(known, found);
  }
  return found;
}
