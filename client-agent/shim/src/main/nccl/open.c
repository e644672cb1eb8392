// SPDX-License-Identifier: Apache-2.0
// The stand-in for dlopen: programs that open NVIDIA's NCCL by its path, as CuPy and JAX do, get this library. With
// both loaded, NVIDIA's would call functions of this one, which comes first.
#include "../../glibc_symbol.h"

#include "nccl_library.h"

#include <string.h>

typedef void *opener(const char *file, int mode);

/** Exported as dlopen by the linker (--defsym): under that name it would be pinned to glibc's own. */
__attribute__((visibility("default"))) opener gpupool_dlopen;

static opener *glibc_dlopen(void) {
  static _Atomic(void *) known;
  opener *found;
  *(void **)&found = glibc_symbol(&known, "dlopen");
  return found;
}

static int names_nccl(const char *file) {
  const char *slash = strrchr(file, '/');
  return strncmp(slash ? slash + 1 : file, "libnccl.so", 10) == 0;
}

/** Returns the path to open. Apart, so that the caller can jump. */
__attribute__((noinline)) static const char *path_for(const char *asked) { return choice_opens(asked); }

void *gpupool_dlopen(const char *file, int mode) {
  if (file && names_nccl(file)) file = path_for(file);
  // A jump, not a call: where a library is looked for depends on who calls dlopen.
  return glibc_dlopen()(file, mode);
}

void *glibc_open(const char *file, int mode) { return glibc_dlopen()(file, mode); }
