// SPDX-License-Identifier: Apache-2.0
// The addresses of the modelled card: those that programs reserve and map blocks at, and those of variables.
#include "module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

CUresult cuInit(unsigned);
CUresult cuDevicePrimaryCtxRetain(struct context **, int);
CUresult cuCtxSetCurrent(struct context *);
CUresult cuModuleLoadDataEx(struct module **, const void *, unsigned, int *, void **);
CUresult cuModuleGetGlobal_v2(CUdeviceptr *, size_t *, struct module *, const char *);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemcpyHtoD_v2(CUdeviceptr, const void *, size_t);
CUresult cuMemcpyDtoH_v2(void *, CUdeviceptr, size_t);
CUresult cuMemAddressReserve(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
CUresult cuMemAddressFree(CUdeviceptr, size_t);
CUresult cuMemCreate(void **, size_t, const int *, unsigned long long);
CUresult cuMemRelease(void *);
CUresult cuMemMap(CUdeviceptr, size_t, size_t, void *, unsigned long long);
CUresult cuMemUnmap(CUdeviceptr, size_t);
CUresult cuMemSetAccess(CUdeviceptr, size_t, const int *, size_t);

#define BLOCK ((size_t)2 << 20)
#define PLACE ((CUdeviceptr)32 << 40)

enum { BAD = CUDA_ERROR_INVALID_VALUE };

static const int pinned[8] = {1, 0, 1, 0};
static const int reading[3] = {1, 0, 1}, both[3] = {1, 0, 3}, nothing[3] = {1, 0, 0};

static const char image[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                            ".visible .global .align 4 .u32 first = 1;\n"
                            ".visible .entry work() { ret; }\n";

static bool start(void) {
  struct context *context;
  return !cuInit(0) && !cuDevicePrimaryCtxRetain(&context, 0) && !cuCtxSetCurrent(context);
}

static bool map_new(CUdeviceptr address, void **piece) {
  return !cuMemCreate(piece, BLOCK, pinned, 0) && !cuMemMap(address, BLOCK, 0, *piece, 0);
}

static bool addresses_wanted_are_given_where_they_are_free(void) {
  CUdeviceptr first, second, third;
  return start() && !cuMemAddressReserve(&first, 4 * BLOCK, 0, PLACE, 0) && first == PLACE &&
         !cuMemAddressReserve(&second, BLOCK, 0, PLACE + BLOCK, 0) && second != PLACE + BLOCK &&
         cuMemAddressFree(PLACE, BLOCK) == BAD && !cuMemAddressFree(PLACE, 4 * BLOCK) &&
         !cuMemAddressReserve(&third, BLOCK, 0, PLACE + BLOCK, 0) && third == PLACE + BLOCK &&
         cuMemAddressReserve(&third, BLOCK, 0, PLACE + 4096, 0) == BAD &&
         cuMemAddressReserve(&third, BLOCK / 2, 0, 0, 0) == BAD;
}

static bool addresses_wanted_are_not_given_where_that_is_said(void) {
  char told[160];
  CUdeviceptr address;
  snprintf(told, sizeof told, "%s,hints=0", getenv("GPUPOOL_MODEL"));
  setenv("GPUPOOL_MODEL", told, 1);
  return start() && !cuMemAddressReserve(&address, BLOCK, 0, PLACE, 0) && address != PLACE;
}

static bool blocks_are_mapped_where_addresses_are_reserved_and_free(void) {
  CUdeviceptr base;
  void *piece, *other;
  if (!start() || cuMemAddressReserve(&base, 2 * BLOCK, 0, PLACE, 0) || !map_new(base, &piece)) return false;
  return !cuMemCreate(&other, 2 * BLOCK, pinned, 0) && cuMemMap(base, 2 * BLOCK, 0, other, 0) == BAD &&
         cuMemMap(base + BLOCK, 2 * BLOCK, 0, other, 0) == BAD &&
         cuMemMap(base + BLOCK, BLOCK / 2, 0, other, 0) == BAD &&
         cuMemMap(base + BLOCK, BLOCK, BLOCK / 2, other, 0) == BAD &&
         cuMemMap(base + 8 * BLOCK, BLOCK, 0, other, 0) == BAD && !cuMemMap(base + BLOCK, BLOCK, BLOCK, other, 0) &&
         cuMemAddressFree(base, 2 * BLOCK) == BAD && !cuMemUnmap(base, 2 * BLOCK) &&
         !cuMemAddressFree(base, 2 * BLOCK);
}

static bool copies_need_the_access_that_was_set(void) {
  CUdeviceptr base;
  void *piece;
  char text[4];
  if (!start() || cuMemAddressReserve(&base, 2 * BLOCK, 0, PLACE, 0)) return false;
  if (cuMemcpyHtoD_v2(base, "text", 4) != BAD || cuMemSetAccess(base, BLOCK, both, 1) != BAD) return false;
  if (!map_new(base, &piece) || cuMemcpyHtoD_v2(base, "text", 4) != BAD) return false;
  if (cuMemSetAccess(base, 2 * BLOCK, both, 1) != BAD || cuMemSetAccess(base, BLOCK, both, 1)) return false;
  if (cuMemcpyHtoD_v2(base, "text", 4) || cuMemSetAccess(base, BLOCK, reading, 1)) return false;
  if (cuMemcpyHtoD_v2(base, "else", 4) != BAD || cuMemcpyDtoH_v2(text, base, 4)) return false;
  return !memcmp(text, "text", 4) && !cuMemSetAccess(base, BLOCK, nothing, 1) &&
         cuMemcpyDtoH_v2(text, base, 4) == BAD && !cuMemSetAccess(base, BLOCK, both, 1) &&
         !cuMemcpyDtoH_v2(text, base, 4) && !memcmp(text, "text", 4) && cuMemFree_v2(base) == BAD;
}

static bool copies_cross_from_one_mapping_to_the_next(void) {
  CUdeviceptr base;
  void *first, *second;
  char text[8];
  return start() && !cuMemAddressReserve(&base, 3 * BLOCK, 0, PLACE, 0) && map_new(base, &first) &&
         map_new(base + BLOCK, &second) && !cuMemSetAccess(base, 2 * BLOCK, both, 1) &&
         !cuMemcpyHtoD_v2(base + BLOCK - 4, "two ones", 8) && !cuMemcpyDtoH_v2(text, base + BLOCK - 4, 8) &&
         !memcmp(text, "two ones", 8) && cuMemcpyDtoH_v2(text, base + 2 * BLOCK - 4, 8) == BAD;
}

static bool mappings_behind_each_other_are_unmapped_at_once(void) {
  CUdeviceptr base;
  if (!start() || cuMemAddressReserve(&base, 4 * BLOCK, 0, 0, 0)) return false;
  for (size_t i = 0; i < 3; i++) {
    void *piece;
    if (!map_new(base + i * BLOCK, &piece)) return false;
  }
  return cuMemUnmap(base, BLOCK / 2) == BAD && cuMemUnmap(base, 4 * BLOCK) == BAD &&
         !cuMemUnmap(base + BLOCK, 2 * BLOCK) && cuMemUnmap(base + BLOCK, BLOCK) == BAD && !cuMemUnmap(base, BLOCK);
}

static CUdeviceptr address_of_variable(void) {
  struct module *module;
  CUdeviceptr address;
  size_t bytes;
  bool good = start() && !cuModuleLoadDataEx(&module, image, 0, NULL, NULL) &&
              !cuModuleGetGlobal_v2(&address, &bytes, module, "first");
  return good ? address : 0;
}

/** The address in another process. */
static CUdeviceptr address_elsewhere(void) {
  int ends[2];
  CUdeviceptr address = 0;
  if (pipe(ends)) return 0;
  pid_t child = fork();
  if (!child) {
    address = address_of_variable();
    _exit(write(ends[1], &address, sizeof address) == sizeof address ? 0 : 1);
  }
  if (read(ends[0], &address, sizeof address) != sizeof address) address = 0;
  waitpid(child, NULL, 0);
  return address;
}

static bool variables_have_the_same_addresses_in_each_process(void) {
  CUdeviceptr first = address_elsewhere();
  return first && first == address_elsewhere();
}

static bool variables_have_other_addresses_where_that_is_wanted(void) {
  char told[160];
  snprintf(told, sizeof told, "%s,variables=1", getenv("GPUPOOL_MODEL"));
  setenv("GPUPOOL_MODEL", told, 1);
  CUdeviceptr first = address_elsewhere(), second = address_elsewhere();
  return first && second && first != second;
}

#define CASE(name) {#name, name}

static const struct {
  const char *name;
  bool (*run)(void);
} cases[] = {
    CASE(addresses_wanted_are_given_where_they_are_free),
    CASE(addresses_wanted_are_not_given_where_that_is_said),
    CASE(blocks_are_mapped_where_addresses_are_reserved_and_free),
    CASE(copies_need_the_access_that_was_set),
    CASE(copies_cross_from_one_mapping_to_the_next),
    CASE(mappings_behind_each_other_are_unmapped_at_once),
    CASE(variables_have_the_same_addresses_in_each_process),
    CASE(variables_have_other_addresses_where_that_is_wanted),
};

int main(void) {
  char told[128], file[160];
  int failures = 0;
  snprintf(told, sizeof told, "mem=1Gi,name=virtual-%d", getpid());
  setenv("GPUPOOL_MODEL", told, 1);
  snprintf(file, sizeof file, "/dev/shm/gpupool-model-virtual-%d-0", getpid());
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fflush(stdout);
    pid_t child = fork();
    if (!child) _exit(cases[i].run() ? 0 : 1);
    int status = 1;
    waitpid(child, &status, 0);
    unlink(file);
    printf("%s %s\n", status ? "not ok" : "ok", cases[i].name);
    failures += status != 0;
  }
  return failures != 0;
}
