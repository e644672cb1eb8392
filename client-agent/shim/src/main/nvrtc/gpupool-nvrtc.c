// SPDX-License-Identifier: Apache-2.0
//
// libgpupool-nvrtc.so, which `gpupool run` has the loader put in front of a program (LD_PRELOAD) whose GPUs
// are software GPUs. Where the program asks NVRTC for the machine code that it has compiled for a card, it
// gets the PTX of the same program, which such a GPU runs; all else is NVRTC's own. For any thread.
//
// Programs linked with NVRTC find the two functions here because this library comes first; those that
// open NVRTC at run time look them up with dlsym, which is therefore here as well.
#include "../../glibc_symbol.h"

#include <link.h>
#include <stddef.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

enum { NVRTC_SUCCESS = 0, NVRTC_ERROR_INTERNAL_ERROR = 11, NO_PTX_BYTES = 1, MAX_PATH_BYTES = 4096 };

typedef void *lookup(void *handle, const char *name);
typedef int ask_size(void *program, size_t *bytes);
typedef int ask_code(void *program, char *code);

EXPORTED ask_size nvrtcGetCUBINSize;
EXPORTED ask_code nvrtcGetCUBIN;
/** Exported as dlsym by the linker (--defsym): under that name it would be pinned to glibc's own. */
EXPORTED lookup gpupool_dlsym;

/** The NVRTC that the program uses; the last one, if it has opened several. */
static _Atomic(void *) library;

static lookup *glibc_dlsym(void) {
  static _Atomic(void *) known;
  lookup *found;
  *(void **)&found = glibc_symbol(&known, "dlsym");
  return found;
}

/** Takes a loaded library for the program's NVRTC, and keeps it loaded. */
static void take(const char *path) {
  void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  void *before = handle ? atomic_exchange(&library, handle) : NULL;
  if (before) dlclose(before);
}

static int is_nvrtc(struct dl_phdr_info *loaded, size_t bytes, void *path) {
  (void)bytes;
  const char *slash = strrchr(loaded->dlpi_name, '/');
  const char *name = slash ? slash + 1 : loaded->dlpi_name;
  if (strncmp(name, "libnvrtc", 8) != 0 || strncmp(name, "libnvrtc-builtins", 17) == 0 ||
      strlen(loaded->dlpi_name) >= MAX_PATH_BYTES) {
    return 0;
  }
  strcpy(path, loaded->dlpi_name);
  return 1;
}

/** Looks for an NVRTC that is loaded, unless one is known. */
static void *nvrtc(void) {
  char path[MAX_PATH_BYTES];
  if (!atomic_load(&library) && dl_iterate_phdr(is_nvrtc, path)) take(path);
  return atomic_load(&library);
}

static void *function(const char *name) {
  void *from = nvrtc();
  return from ? glibc_dlsym()(from, name) : NULL;
}

/** The length of the program's PTX with the NUL at its end, 0 if there is none. */
static size_t ptx_bytes(void *program) {
  ask_size *size;
  size_t bytes = 0;
  *(void **)&size = function("nvrtcGetPTXSize");
  return size && size(program, &bytes) == NVRTC_SUCCESS && bytes > NO_PTX_BYTES ? bytes : 0;
}

int nvrtcGetCUBINSize(void *program, size_t *bytes) {
  ask_size *size;
  *(void **)&size = function("nvrtcGetCUBINSize");
  if (!size) return NVRTC_ERROR_INTERNAL_ERROR;
  int result = size(program, bytes);
  // None where the program was compiled for a virtual architecture; then PTX is not asked for here.
  if (result || !*bytes) return result;
  size_t instead = ptx_bytes(program);
  if (instead) *bytes = instead;
  return NVRTC_SUCCESS;
}

int nvrtcGetCUBIN(void *program, char *code) {
  ask_size *size;
  ask_code *get;
  size_t bytes = 0;
  *(void **)&size = function("nvrtcGetCUBINSize");
  *(void **)&get = function("nvrtcGetCUBIN");
  if (!size || !get) return NVRTC_ERROR_INTERNAL_ERROR;
  if (size(program, &bytes) == NVRTC_SUCCESS && bytes && ptx_bytes(program)) {
    *(void **)&get = function("nvrtcGetPTX");
    if (!get) return NVRTC_ERROR_INTERNAL_ERROR;
  }
  return get(program, code);
}

/** Takes the library of what was found for the program's NVRTC; false if that is this one. */
static int take_owner(void *found) {
  Dl_info info, own;
  if (!dladdr(found, &info) || !dladdr((void *)(size_t)glibc_dlsym, &own)) return 0;
  if (info.dli_fbase == own.dli_fbase) return 0;
  take(info.dli_fname);
  return 1;
}

/** Stands in for strcmp, which a sanitizer replaces and first looks up through dlsym. */
static int is(const char *name, const char *wanted) {
  while (*name && *name == *wanted) name++, wanted++;
  return *name == *wanted;
}

void *gpupool_dlsym(void *handle, const char *name) {
  ask_size *own_size = nvrtcGetCUBINSize;
  ask_code *own_code = nvrtcGetCUBIN;
  void *own = NULL;
  if (is(name, "nvrtcGetCUBINSize")) own = *(void **)&own_size;
  if (is(name, "nvrtcGetCUBIN")) own = *(void **)&own_code;
  if (own && handle != RTLD_NEXT) {
    void *found = glibc_dlsym()(handle, name);
    if (found && (take_owner(found) || nvrtc())) return own;
    // This library alone has it: then nothing is found, and dlerror says so.
    if (found) name = "nvrtcGetCUBIN, of no library";
  }
  // A jump, not a call: what RTLD_NEXT and RTLD_DEFAULT find depends on who calls dlsym.
  return glibc_dlsym()(handle, name);
}
