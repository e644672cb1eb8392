// SPDX-License-Identifier: Apache-2.0
// Fills the memory of a lease by one kind of allocation, then with plain memory to the last block, and prints the sum.
// Usage: fill_memory KIND; of nothing it fills nothing
#include <unistd.h>

#include "../../../examples/driver-api/driver.h"

#define MEBIBYTES ((size_t)1 << 20)

enum { LIMIT_MALLOC_HEAP = 2, POOL_RELEASE_THRESHOLD = 4, PINNED = 1, DEVICE = 1, ATTACH_GLOBAL = 1, UINT8 = 1 };

static const char image[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                            ".visible .global .align 8 .b8 variable[33554432];\n"
                            ".visible .entry small() { ret; }\n"
                            ".visible .entry local_8192() { ret; }\n";

static void *library;

static int call_(const char *name, long a, long b, long c, long d, long e) {
  CUresult (*function)(long, long, long, long, long) = (void *)(uintptr_t)dlsym(library, name);
  if (!function) fail("%s", dlerror());
  return function(a, b, c, d, e);
}

#define CALL(name, a, b, c, d, e) call_(name, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))

static CUresult plain(size_t bytes) {
  CUdeviceptr memory;
  return cuMemAlloc(&memory, bytes);
}

static CUresult large(void) { return plain(64 * MEBIBYTES); }
static CUresult odd(void) { return plain(17 * MEBIBYTES / 16); }
static CUresult small(void) { return plain(48 << 10); }

static CUresult pitched(void) {
  CUdeviceptr memory;
  size_t pitch;
  return CALL("cuMemAllocPitch_v2", &memory, &pitch, 3000, 5000, 4);
}

static CUresult in_order(void) {
  CUdeviceptr memory;
  return CALL("cuMemAllocAsync", &memory, 24 * MEBIBYTES, 0, 0, 0);
}

/** A pool keeps freed memory. */
static CUresult kept_by_pool(void) {
  static void *pool;
  CUdeviceptr memory;
  if (!pool) {
    struct {
      int type, handles, location, device;
      char rest[72];
    } properties = {PINNED, 0, DEVICE, 0, {0}};
    unsigned long long forever = ~0ull;
    CUresult result = CALL("cuMemPoolCreate", &pool, &properties, 0, 0, 0);
    if (!result) result = CALL("cuMemPoolSetAttribute", pool, POOL_RELEASE_THRESHOLD, &forever, 0, 0);
    if (result) return result;
  }
  CUresult result = CALL("cuMemAllocFromPoolAsync", &memory, 40 * MEBIBYTES, pool, 0, 0);
  return result ? result : CALL("cuMemAllocFromPoolAsync", &memory, 1 * MEBIBYTES, pool, 0, 0);
}

static CUresult virtual(void) {
  struct {
    int type, handles, location, device;
    void *attributes;
    char flags[8];
  } properties = {PINNED, 0, DEVICE, 0, NULL, {0}};
  long block;
  return CALL("cuMemCreate", &block, 32 * MEBIBYTES, &properties, 0, 0);
}

static CUresult array(void) {
  struct {
    size_t width, height;
    int format;
    unsigned channels;
  } description = {4000, 3000, UINT8, 4};
  void *made;
  return CALL("cuArrayCreate_v2", &made, &description, 0, 0, 0);
}

static CUresult mipmapped(void) {
  struct {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
  } description = {2048, 2048, 0, UINT8, 4, 0};
  void *made;
  return CALL("cuMipmappedArrayCreate", &made, &description, 4, 0, 0);
}

/** Four of them: each is filled with zeroes on both sides. */
static CUresult managed(void) {
  static int count;
  CUdeviceptr memory;
  if (count++ == 4) return CUDA_ERROR_OUT_OF_MEMORY;
  return CALL("cuMemAllocManaged", &memory, 256 * MEBIBYTES, ATTACH_GLOBAL, 0, 0);
}

static CUresult variables(void) {
  CUmodule module;
  return cuModuleLoadData(&module, image);
}

static CUresult heap(void) {
  static size_t bytes = 8 * MEBIBYTES;
  return CALL("cuCtxSetLimit", LIMIT_MALLOC_HEAP, bytes += 128 * MEBIBYTES, 0, 0, 0);
}

/** Local memory of 1.8 GiB, for all threads of the card; after that there is no more to take. */
static CUresult local(void) {
  CUmodule module;
  CUfunction function;
  CUresult result = cuModuleLoadData(&module, image);
  if (!result) result = cuModuleGetFunction(&function, module, "local_8192");
  if (!result) result = cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
  if (!result) result = cuCtxSynchronize();
  return result ? result : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult contexts(void) {
  CUcontext context;
  return cuCtxCreate(&context, 0, 0);
}

static const struct {
  const char *name;
  CUresult (*allocate)(void);
} kinds[] = {{"large", large},       {"odd", odd},         {"small", small},         {"pitched", pitched},
             {"in-order", in_order}, {"pool", kept_by_pool}, {"virtual", virtual},     {"array", array},
             {"mipmapped", mipmapped}, {"managed", managed}, {"variables", variables}, {"heap", heap},
             {"local", local},       {"contexts", contexts}, {"nothing", NULL}};

static void fill(CUresult (*allocate)(void)) {
  CUresult result = CUDA_SUCCESS;
  while (!result) result = allocate();
  if (result != CUDA_ERROR_OUT_OF_MEMORY) CHECK(result);
}

static CUresult block(void) { return plain(2 * MEBIBYTES); }

int main(int count, char **arguments) {
  if (count != 2) fail("usage: fill_memory KIND");
  alarm(300);
  library = dlopen("libcuda.so.1", RTLD_NOW);
  CUcontext context;
  size_t left, total;
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (strcmp(kinds[i].name, arguments[1])) continue;
    if (kinds[i].allocate) {
      fill(kinds[i].allocate);
      CHECK(cuCtxSetCurrent(context));
      fill(block);
    }
    CHECK(cuMemGetInfo(&left, &total));
    printf("filled %zu of %zu\n", total - left, total);
    fflush(stdout);
    getchar();
    return 0;
  }
  fail("there is no kind %s", arguments[1]);
}
