// SPDX-License-Identifier: Apache-2.0
// libnccl.so.2 as programs meet it: every function, beside gpupool's libcuda.so.1 and beside another one.
#include "collective/nccl_interface.h"
#include "harness.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#define LIBRARY "target/libnccl.so.2"

static const struct {
  const char *name;
  bool refused;
} functions[] = {
#define IMPLEMENTED(name, note) {#name, false},
#define REFUSED(name, reason) {#name, true},
#include "../../main/nccl/functions.inc"
};

enum { FUNCTIONS = sizeof functions / sizeof *functions };

static void *library;

static void *find(const char *name) {
  void *found = dlsym(library, name);
  if (!found) fprintf(stderr, "%s\n", dlerror());
  CHECK(found);
  return found;
}

static void open_beside(const char *driver) {
  CHECK(dlopen(driver, RTLD_NOW | RTLD_GLOBAL));
  library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  CHECK(library);
}

static void everyFunction_hasItsNameForProfilers(void) {
  char name[80];
  open_beside("target/libcuda.so.1");
  for (int i = 0; i < FUNCTIONS; i++) {
    snprintf(name, sizeof name, "p%s", functions[i].name);
    void *function = find(functions[i].name);
    if (strcmp(functions[i].name, "ncclResetDebugInitInternal") != 0) CHECK(find(name) == function);
  }
}

static void refusedFunction_isInvalidUsage(void) {
  open_beside("target/libcuda.so.1");
  const char *(*lastError)(void *) = (const char *(*)(void *))find("ncclGetLastError");
  for (int i = 0; i < FUNCTIONS; i++) {
    if (!functions[i].refused) continue;
    CHECK_RESULT(NCCL_INVALID_USAGE, ((int (*)(void))find(functions[i].name))());
    CHECK(strstr(lastError(NULL), functions[i].name) && strstr(lastError(NULL), "gpupool does not support"));
  }
}

static void identifiers_differ(void) {
  char one[NCCL_ID_BYTES], other[NCCL_ID_BYTES];
  int version;
  open_beside("target/libcuda.so.1");
  int (*make)(char *) = (int (*)(char *))find("ncclGetUniqueId");
  CHECK_OK(make(one));
  CHECK_OK(make(other));
  CHECK(memcmp(one, other, 16) == 0 && memcmp(one, other, sizeof one) != 0);
  CHECK_OK(((int (*)(int *))find("ncclGetVersion"))(&version));
  CHECK(version == 23007);
}

static void function_besideAnotherDriver_isASystemError(void) {
  // There is none.
  library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  CHECK(library);
  if (dlopen("libcuda.so.1", RTLD_NOW)) return;  // the machine has one
  CHECK_RESULT(NCCL_SYSTEM_ERROR, ((int (*)(void))find("ncclGroupStart"))());
  CHECK_RESULT(NCCL_SYSTEM_ERROR, ((int (*)(void))find("ncclCommRevoke"))());
}

int main(void) {
  CASE(everyFunction_hasItsNameForProfilers);
  CASE(refusedFunction_isInvalidUsage);
  CASE(identifiers_differ);
  CASE(function_besideAnotherDriver_isASystemError);
  return test_result();
}
