// SPDX-License-Identifier: Apache-2.0
// Copies and fills whose bytes are all checked, round after round, for sessions that move between GPUs whose kernels
// compute nothing: device memory of all sizes, a variable, managed and page-locked memory, and the time between two
// events. Argument: a number of rounds, or until-end-of-input; with "pool" behind it, memory of a pool as well.
#include <poll.h>
#include <unistd.h>

#include "../../../examples/driver-api/driver.h"

enum { PIECES = 5, LARGEST = 3 << 20, MANAGED = 40000 };

static const size_t words[PIECES] = {1, 300, 77777, 262145, LARGEST};
static const char image[] = ".version 8.0\n.target sm_75\n.address_size 64\n"
                            ".visible .global .align 4 .u32 table[64];\n"
                            ".visible .entry work() { ret; }\n";

static CUresult (*module_get_global)(CUdeviceptr *, size_t *, CUmodule, const char *);
static CUresult (*event_elapsed_time)(float *, CUevent, CUevent);
static CUresult (*memory_alloc_async)(CUdeviceptr *, size_t, CUstream);

static unsigned pattern(unsigned piece, unsigned round, unsigned i) {
  return (i * 2654435761u) ^ (piece * 40503u + round * 69069u);
}

static void fill(unsigned *values, unsigned piece, unsigned round, size_t count) {
  for (size_t i = 0; i < count; i++) values[i] = pattern(piece, round, (unsigned)i);
}

static void require(const unsigned *values, unsigned piece, unsigned round, size_t count, const char *what) {
  for (size_t i = 0; i < count; i++) {
    unsigned wanted = i == count / 2 ? round : pattern(piece, round, (unsigned)i);
    if (values[i] != wanted) fail("round %u: word %zu of %s %u is %x, not %x", round, i, what, piece, values[i], wanted);
  }
}

static void *look_up(const char *name) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW), *found = library ? dlsym(library, name) : NULL;
  if (found == NULL) fail("%s", dlerror());
  return found;
}

static int input_has_ended(void) {
  struct pollfd input = {.fd = 0, .events = POLLIN};
  char byte;
  return poll(&input, 1, 20) > 0 && read(0, &byte, 1) <= 0;
}

/** Checks the contents that the round before has left, and replaces them. */
static void one_round(unsigned round, CUdeviceptr *pieces, CUdeviceptr spare, unsigned *host, unsigned *locked,
                      CUstream stream) {
  for (unsigned piece = 0; piece < PIECES; piece++) {
    size_t bytes = words[piece] * sizeof *host;
    if (round) {
      CHECK(cuMemcpyDtoDAsync(spare, pieces[piece], bytes, stream));
      CHECK(cuMemcpyDtoHAsync(locked, spare, bytes, stream));
      CHECK(cuStreamSynchronize(stream));
      require(locked, piece, round - 1, words[piece], "piece");
    }
    if (piece == 1 || piece == 3) {
      // The new allocation may lie elsewhere.
      CHECK(cuMemFree(pieces[piece]));
      CHECK(cuMemAlloc(&pieces[piece], bytes));
    }
    fill(host, piece, round, words[piece]);
    CHECK(cuMemcpyHtoDAsync(pieces[piece], host, bytes, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemsetD32(pieces[piece] + words[piece] / 2 * sizeof *host, round, 1));
  }
}

int main(int argc, char **argv) {
  unsigned rounds = argc <= 1 ? 3 : strcmp(argv[1], "until-end-of-input") == 0 ? 0 : (unsigned)atoi(argv[1]);
  CUdeviceptr pieces[PIECES], spare, table, managed, pooled;
  CUcontext context;
  CUmodule module;
  CUstream stream;
  CUevent start, end;
  float first, again;
  unsigned *host = malloc(LARGEST * sizeof *host), *locked, values[64];
  *(void **)&module_get_global = look_up("cuModuleGetGlobal_v2");
  *(void **)&event_elapsed_time = look_up("cuEventElapsedTime");
  *(void **)&memory_alloc_async = look_up("cuMemAllocAsync");
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, image));
  CHECK(module_get_global(&table, NULL, module, "table"));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemAllocHost((void **)&locked, LARGEST * sizeof *locked));
  for (int i = 0; i < PIECES; i++) CHECK(cuMemAlloc(&pieces[i], words[i] * sizeof *host));
  CHECK(cuMemAlloc(&spare, LARGEST * sizeof *host));
  CHECK(cuMemAllocManaged(&managed, MANAGED * sizeof *host, 1));
  fill((unsigned *)(uintptr_t)managed, 9, 9, MANAGED);
  ((unsigned *)(uintptr_t)managed)[MANAGED / 2] = 9;
  if (argc > 2) CHECK(memory_alloc_async(&pooled, 1000, stream));
  fill(values, 7, 7, 64);
  values[32] = 7;
  CHECK(cuMemcpyHtoD(table, values, sizeof values));
  CHECK(cuEventCreate(&start, 0));
  CHECK(cuEventCreate(&end, 0));
  CHECK(cuEventRecord(start, stream));
  CHECK(cuMemsetD32(spare, 5, LARGEST));
  CHECK(cuCtxSynchronize());
  CHECK(cuEventRecord(end, stream));
  CHECK(cuEventSynchronize(end));
  CHECK(event_elapsed_time(&first, start, end));
  unsigned round = 0;
  for (; rounds ? round < rounds : !input_has_ended(); round++) {
    one_round(round, pieces, spare, host, locked, stream);
    memset(values, 0, sizeof values);
    CHECK(cuMemcpyDtoH(values, table, sizeof values));
    require(values, 7, 7, 64, "the table");
    CHECK(cuCtxSynchronize());
    require((unsigned *)(uintptr_t)managed, 9, 9, MANAGED, "managed memory");
    CHECK(event_elapsed_time(&again, start, end));
    if (first != again) fail("round %u: %f ms between the events, not %f", round, again, first);
  }
  printf("moving_copies: OK %u rounds\n", round);
  return 0;
}
