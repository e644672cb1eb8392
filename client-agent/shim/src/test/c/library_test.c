// SPDX-License-Identifier: Apache-2.0
// The library as programs meet it: opened at run time, closed too early, called while the process ends.
#include "core/driver.h"
#include "harness.h"
#include "peer.h"
#include "proc_table.h"

#include <dlfcn.h>

#define LIBRARY "target/libcuda.so.1"

static struct peer peer;
static CUresult (*exitCall)(CUcontext *);

static void *symbol(void *library, const char *name) {
  void *found = dlsym(library, name);
  if (!found) {
    fprintf(stderr, "%s\n", dlerror());
    _exit(1);
  }
  return found;
}

static void everyName_ofTheTable_isExported(void) {
  void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  CHECK(library != NULL);
  CUresult (*lookUp)(const char *, void **, int, uint64_t, int *) =
      (CUresult(*)(const char *, void **, int, uint64_t, int *))symbol(library,
                                                                       "cuGetProcAddress_v2");
  for (int i = 0; i < PROC_COUNT; i++) {
    void *function = NULL;
    int status = -1;
    CHECK_OK(lookUp(procTable[i].name, &function, procTable[i].version, 0, &status));
    Dl_info info;
    CHECK(status == 0 && dladdr(function, &info) && info.dli_sname);
    CHECK(dlsym(library, info.dli_sname) == function);
  }
}

static void getProcAddress_forStreamsOfThreads_hasThemFromCuda7On(void) {
  void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  CHECK(library != NULL);
  CUresult (*lookUp)(const char *, void **, int, uint64_t, int *) =
      (CUresult(*)(const char *, void **, int, uint64_t, int *))symbol(library, "cuGetProcAddress_v2");
  void *function;
  int status = -1;
  CHECK_OK(lookUp("cuMemcpyHtoD", &function, 7000, 2, &status));
  CHECK(status == 0 && function == dlsym(library, "cuMemcpyHtoD_v2_ptds"));
  CHECK_OK(lookUp("cuMemcpyHtoD", &function, 6050, 2, &status));
  CHECK(status == 2 && !function);
  CHECK_OK(lookUp("cuMemAlloc", &function, 6050, 2, &status));
  CHECK(status == 0 && function == dlsym(library, "cuMemAlloc_v2"));
}

static void close_whileThreadsRun_leavesTheLibraryThere(void) {
  peer_start(&peer);
  void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  CHECK(library != NULL);
  CUresult (*init)(unsigned) = (CUresult(*)(unsigned))symbol(library, "cuInit");
  CUresult (*retain)(CUcontext *, int) =
      (CUresult(*)(CUcontext *, int))symbol(library, "cuDevicePrimaryCtxRetain");
  CUresult (*synchronize)(void) = (CUresult(*)(void))symbol(library, "cuCtxSynchronize");
  CUresult (*set)(CUcontext) = (CUresult(*)(CUcontext))symbol(library, "cuCtxSetCurrent");
  CUcontext context;
  CHECK_OK(init(0));
  CHECK_OK(retain(&context, 0));
  CHECK_OK(set(context));
  CHECK_OK(dlclose(library));
  CHECK_OK(synchronize());
  library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  CHECK(symbol(library, "cuCtxSynchronize") == (void *)synchronize);
  CHECK_OK(synchronize());
}

static void call_at_exit(void) {
  CUcontext context;
  if (exitCall(&context) != 0) _exit(3);
}

static void *run_for_ever(void *argument) {
  CUresult (*create)(CUstream *, unsigned) = (CUresult(*)(CUstream *, unsigned))argument;
  CUstream stream;
  for (;;) create(&stream, 0);
  return NULL;
}

static void exit_whileThreadsCall_isClean(void) {
  peer_start(&peer);
  atexit(call_at_exit);
  void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  CHECK(library != NULL);
  exitCall = (CUresult(*)(CUcontext *))symbol(library, "cuCtxGetCurrent");
  CHECK_OK(((CUresult(*)(unsigned))symbol(library, "cuInit"))(0));
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) {
    pthread_create(&threads[i], NULL, run_for_ever, symbol(library, "cuStreamCreate"));
  }
  usleep(20000);
  exit(0);
}

int main(void) {
  CASE(everyName_ofTheTable_isExported);
  CASE(getProcAddress_forStreamsOfThreads_hasThemFromCuda7On);
  CASE(close_whileThreadsRun_leavesTheLibraryThere);
  CASE(exit_whileThreadsCall_isClean);
  return test_result();
}
