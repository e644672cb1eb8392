// SPDX-License-Identifier: Apache-2.0
// The stand-in for dlopen: programs that open NVIDIA's NCCL by its path, as CuPy and JAX do, get this library. With
// both loaded, NVIDIA's would call functions of this one, which comes first.
#include "../../glibc_symbol.h"

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

/** Returns the path of this library, or else the one that was asked for. Apart, so that the caller can jump. */
__attribute__((noinline)) static const char *own_path(const char *asked) {
  static const char here;
  Dl_info own;
  return dladdr(&here, &own) ? own.dli_fname : asked;
}

void *gpupool_dlopen(const char *file, int mode) {
  if (file && names_nccl(file)) file = own_path(file);
  // A jump, not a call: where a library is looked for depends on who calls dlopen.
  return glibc_dlopen()(file, mode);
}
