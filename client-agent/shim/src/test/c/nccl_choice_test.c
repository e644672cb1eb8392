// SPDX-License-Identifier: Apache-2.0
// The preloaded libnccl.so.2 where NVIDIA's library is to do the work: all of it goes there, with its arguments.
#include "collective/nccl_interface.h"
#include "harness.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

#define OWN "target/libnccl.so.2"
#define OTHER_FOLDER "target/objects/test/other"
#define OTHER OTHER_FOLDER "/libnccl.so.2"

enum { OWN_VERSION = 23007, OTHER_VERSION = 12345 };

typedef struct {
  char bytes[NCCL_ID_BYTES];
} identifier;

struct other_calls {
  void *made;
  int ranks, rank;
  identifier id;
  const void *in;
  void *out, *communicator, *stream;
  size_t count;
  int type, operation, root;
};

static void *find(const char *name) {
  void *found = dlsym(RTLD_DEFAULT, name);
  CHECK(found);
  return found;
}

static int version(void) {
  int found = 0;
  CHECK_OK(((int (*)(int *))find("ncclGetVersion"))(&found));
  return found;
}

static void function_isNvidiasWithItsArguments(void) {
  char memory[8];
  identifier id;
  for (size_t i = 0; i < sizeof id; i++) id.bytes[i] = (char)(i + 1);
  CHECK(version() == OWN_VERSION);
  int (*init)(void **, int, identifier, int) = (int (*)(void **, int, identifier, int))find("ncclCommInitRank");
  CHECK_RESULT(100, init((void **)memory, 7, id, 5));
  int (*reduce)(const void *, void *, size_t, int, int, int, void *, void *) =
      (int (*)(const void *, void *, size_t, int, int, int, void *, void *))find("pncclReduce");
  CHECK_RESULT(101, reduce(memory, memory + 1, (size_t)1 << 40, 2, 3, 4, memory + 5, memory + 6));
  CHECK_RESULT(102, ((int (*)(void))find("ncclGroupStart"))());
  void *other = dlopen(OTHER, RTLD_NOW | RTLD_NOLOAD);
  CHECK(other);
  const struct other_calls *calls = dlsym(other, "otherCalls");
  CHECK(calls && calls->made == memory && calls->ranks == 7 && calls->rank == 5);
  CHECK(memcmp(&calls->id, &id, sizeof id) == 0);
  CHECK(calls->in == memory && calls->out == memory + 1 && calls->count == (size_t)1 << 40);
  CHECK(calls->type == 2 && calls->operation == 3 && calls->root == 4);
  CHECK(calls->communicator == memory + 5 && calls->stream == memory + 6);
  CHECK(version() == OTHER_VERSION);
}

/** A program without any libcuda.so.1 of gpupool's, which opens NVIDIA's library by its path as CuPy does. */
static void libraryOpenedByItsPath_isTheOneThatIsUsed(void) {
  unsetenv("GPUPOOL_NCCL");
  void *opened = dlopen(OTHER, RTLD_NOW | RTLD_LOCAL);
  CHECK(opened && opened == dlopen(OWN, RTLD_NOW | RTLD_NOLOAD));
  CHECK_RESULT(102, ((int (*)(void))dlsym(opened, "ncclGroupStart"))());
  void *again = dlopen(OTHER, RTLD_NOW | RTLD_LOCAL);
  CHECK(again != opened && dlsym(again, "otherCalls"));
}

static void libraryOpenedWhileItIsOff_isNvidias(void) {
  void *opened = dlopen(OTHER, RTLD_NOW | RTLD_LOCAL);
  CHECK(opened && dlsym(opened, "otherCalls"));
}

static void function_whereNvidiasLibraryHasNone_isGpupools(void) {
  CHECK_RESULT(102, ((int (*)(void))find("ncclGroupStart"))());
  int (*suspend)(void) = (int (*)(void))find("ncclCommSuspend");
  CHECK(suspend() != 102);
}

static const char *program;

/** In a process of its own, whose loader does not look in the other library's folder. */
static void function_whereThereIsNoOtherLibrary_isGpupools(void) {
  if (!getenv("ALONE")) {
    setenv("ALONE", "1", 1);
    unsetenv("LD_LIBRARY_PATH");
    CHECK(execl(program, program, (char *)NULL) == 0);
  }
  CHECK_RESULT(NCCL_SYSTEM_ERROR, ((int (*)(void))find("ncclGroupStart"))());
}

static void otherProgram_runsUnderIt(void) { CHECK(system("sh -c 'exit 3'") == 3 << 8); }

int main(int argc, char **argv) {
  (void)argc;
  char own[PATH_MAX], folder[PATH_MAX];
  program = argv[0];
  if (!getenv("LD_PRELOAD")) {
    if (!realpath(OWN, own) || !realpath(OTHER_FOLDER, folder)) return 1;
    setenv("LD_PRELOAD", own, 1);
    setenv("GPUPOOL_NCCL", "off", 1);
    setenv("LD_LIBRARY_PATH", folder, 1);
    execv(argv[0], argv);
    return 1;
  }
  if (getenv("ALONE")) {
    function_whereThereIsNoOtherLibrary_isGpupools();
    return 0;
  }
  CASE(function_isNvidiasWithItsArguments);
  CASE(libraryOpenedByItsPath_isTheOneThatIsUsed);
  CASE(libraryOpenedWhileItIsOff_isNvidias);
  CASE(function_whereNvidiasLibraryHasNone_isGpupools);
  CASE(function_whereThereIsNoOtherLibrary_isGpupools);
  CASE(otherProgram_runsUnderIt);
  return test_result();
}
