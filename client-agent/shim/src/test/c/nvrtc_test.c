// SPDX-License-Identifier: Apache-2.0
// The preloaded library in a program without NVRTC: nothing is found that is not there, and lookups are glibc's.
#include "harness.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>

#define LIBRARY "target/libgpupool-nvrtc.so"

enum { INTERNAL_ERROR = 11 };

static void lookup_ofAnotherName_findsWhatGlibcFinds(void) {
  void *strings = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  CHECK(strings != NULL);
  CHECK(dlsym(RTLD_DEFAULT, "getpid") == (void *)(size_t)getpid);
  CHECK(dlsym(strings, "getpid") == (void *)(size_t)getpid);
  CHECK(dlsym(strings, "nvrtcGetPTX") == NULL);
  CHECK(strstr(dlerror(), "nvrtcGetPTX") != NULL);
}

// RTLD_NEXT depends on the caller: after the library itself there is nothing.
static void lookupOfTheNext_startsAfterTheCaller(void) {
  CHECK(dlsym(RTLD_NEXT, "nvrtcGetCUBIN") != NULL);
  CHECK(dlsym(RTLD_NEXT, "nvrtcGetCUBINSize") != NULL);
}

static void lookup_whereNoNvrtcIsLoaded_findsNothing(void) {
  void *everything = dlopen(NULL, RTLD_LAZY);
  CHECK(dlsym(RTLD_DEFAULT, "nvrtcGetCUBIN") == NULL);
  CHECK(strstr(dlerror(), "nvrtcGetCUBIN") != NULL);
  CHECK(dlsym(everything, "nvrtcGetCUBINSize") == NULL);
  CHECK(dlerror() != NULL);
  CHECK(dlsym(everything, "getpid") != NULL);
  CHECK(dlerror() == NULL);
}

static void call_whereNoNvrtcIsLoaded_isAnError(void) {
  int (*size)(void *, size_t *);
  int (*code)(void *, char *);
  *(void **)&size = dlsym(RTLD_NEXT, "nvrtcGetCUBINSize");
  *(void **)&code = dlsym(RTLD_NEXT, "nvrtcGetCUBIN");
  size_t bytes;
  char byte;
  CHECK_RESULT(INTERNAL_ERROR, size(NULL, &bytes));
  CHECK_RESULT(INTERNAL_ERROR, code(NULL, &byte));
}

int main(int argc, char **argv) {
  (void)argc;
  char path[PATH_MAX];
  if (!getenv("LD_PRELOAD")) {
    if (!realpath(LIBRARY, path)) return 1;
    setenv("LD_PRELOAD", path, 1);
    execv(argv[0], argv);
    return 1;
  }
  CASE(lookup_ofAnotherName_findsWhatGlibcFinds);
  CASE(lookupOfTheNext_startsAfterTheCaller);
  CASE(lookup_whereNoNvrtcIsLoaded_findsNothing);
  CASE(call_whereNoNvrtcIsLoaded_isAnError);
  return test_result();
}
