// SPDX-License-Identifier: Apache-2.0
// The way to gpupool's libcuda.so.1.
#include "nccl_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct nccl_table *found;

static char problem[256];

static void note(const char *what) {
  snprintf(problem, sizeof problem, "gpupool's libnccl.so.2 needs gpupool's libcuda.so.1 (%s)", what);
}

static void find(void) {
  void *driver = glibc_open("libcuda.so.1", RTLD_NOW);
  if (!driver) {
    note(dlerror());
    return;
  }
  CUresult (*exportTable)(const void **, const void *) =
      (CUresult(*)(const void **, const void *))dlsym(driver, "cuGetExportTable");
  const void *table = NULL;
  if (!exportTable || exportTable(&table, NCCL_TABLE_ID) || !table) {
    note("the one that is loaded is not");
    return;
  }
  const struct nccl_table *known = table;
  if (known->bytes < sizeof *known) {
    note("the one that is loaded is of another version");
    return;
  }
  found = known;
}

const struct nccl_table *library_table(void) {
  pthread_once(&once, find);
  return found;
}

const char *library_problem(void) { return *problem ? problem : NULL; }

ncclResult_t library_refuse(const char *function, const char *reason, _Atomic int *told) {
  char text[NCCL_TEXT_BYTES];
  snprintf(text, sizeof text, "%s: gpupool does not support %s", function, reason);
  if (!atomic_exchange(told, 1)) fprintf(stderr, "gpupool: %s\n", text);
  const struct nccl_table *table = library_table();
  return table ? table->refuse(NCCL_INVALID_USAGE, text) : NCCL_SYSTEM_ERROR;
}
