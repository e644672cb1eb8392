// SPDX-License-Identifier: Apache-2.0
// Keeps a GPU busy in one of several ways until its standard input ends. To each line there it answers with what it
// has done so far: "load KIND: COUNT units in SECONDS s".
//
// Usage: load KIND            load.ptx lies beside the program
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "../examples/driver-api/driver.h"
#include "figures.h"

enum { MAX_PATH = 4096, THREADS = 128, BLOCKS = 64, COPY_BYTES = 8 << 20, HOST_BYTES = 64 << 10, NODES = 16 };

static atomic_ulong units;
static const char *kind;
static CUmodule module;
static CUstream stream;
static CUdeviceptr memory, other;

static CUfunction kernel(const char *name) {
  CUfunction function;
  CHECK(cuModuleGetFunction(&function, module, name));
  return function;
}

static void launch(CUfunction function, unsigned blocks, unsigned threads, int turns) {
  void *parameters[] = {&memory, &turns};
  CHECK(cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, NULL));
}

static void done(unsigned long count) {
  atomic_fetch_add(&units, count);
}

// Kernels that follow each other without a gap, two of them under way at a time.
static void kernels(unsigned blocks, unsigned threads, int turns) {
  CUfunction work = kernel("work");
  CUevent events[2];
  CHECK(cuEventCreate(&events[0], CU_EVENT_DISABLE_TIMING));
  CHECK(cuEventCreate(&events[1], CU_EVENT_DISABLE_TIMING));
  for (unsigned long i = 0;; i++) {
    if (i >= 2) {
      CHECK(cuEventSynchronize(events[i & 1]));
      done(1);
    }
    launch(work, blocks, threads, turns);
    CHECK(cuEventRecord(events[i & 1], stream));
  }
}

static void many_kernels(void) {
  kernels(BLOCKS, THREADS, 10000);
}

static void few_kernels(void) {
  kernels(2, 32, 100000000);
}

static void tiny_kernels(void) {
  CUfunction work = kernel("work");
  for (;;) {
    for (int i = 0; i < 256; i++) {
      launch(work, 1, 64, 1);
    }
    CHECK(cuStreamSynchronize(stream));
    done(256);
  }
}

// Waits for each.
static void tiny_kernels_awaited(void) {
  CUfunction work = kernel("work");
  for (;;) {
    launch(work, 1, 64, 1);
    CHECK(cuStreamSynchronize(stream));
    done(1);
  }
}

// As much as the queue takes, and never waits.
static void flood(void) {
  CUfunction work = kernel("work");
  for (;;) {
    launch(work, BLOCKS, THREADS, 200);
    done(1);
  }
}

static void copies(void) {
  void *host;
  CHECK(cuMemAllocHost(&host, HOST_BYTES));
  memset(host, 1, HOST_BYTES);
  for (;;) {
    for (int i = 0; i < 8; i++) {
      CHECK(cuMemcpyDtoDAsync(other, memory, COPY_BYTES, stream));
      CHECK(cuMemcpyHtoDAsync(memory, host, HOST_BYTES, stream));
    }
    CHECK(cuStreamSynchronize(stream));
    done(8);
  }
}

static void graphs(void) {
  CUfunction work = kernel("work");
  CUgraph graph;
  CUgraphExec executable;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  for (int i = 0; i < NODES; i++) {
    launch(work, 2, THREADS, 1000);
  }
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphInstantiateWithFlags(&executable, graph, 0));
  for (;;) {
    for (int i = 0; i < 16; i++) {
      CHECK(cuGraphLaunch(executable, stream));
    }
    CHECK(cuStreamSynchronize(stream));
    done(16);
  }
}

static void spinning(void) {
  CUfunction spin = kernel("spin");
  int turns = 2000000;
  for (unsigned number = 1;; number++) {
    void *parameters[] = {&memory, &other, &number, &turns};
    CHECK(cuLaunchKernel(spin, 3, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
    CHECK(cuStreamSynchronize(stream));
    done(1);
  }
}

static void cooperative(void) {
  CUfunction meet = kernel("meet");
  int rounds = 16, turns = 100000;
  unsigned before = 0, blocks = 2;
  CHECK(cuMemsetD32(other, 0, 1));
  for (;; before += (unsigned)rounds * blocks) {
    void *parameters[] = {&memory, &other, &before, &rounds, &turns};
    CHECK(cuLaunchCooperativeKernel(meet, blocks, 1, 1, 32, 1, 1, 0, stream, parameters));
    CHECK(cuStreamSynchronize(stream));
    done(1);
  }
}

static const struct {
  const char *name;
  void (*run)(void);
} KINDS[] = {{"kernels", many_kernels}, {"long", few_kernels}, {"tiny", tiny_kernels},
             {"awaited", tiny_kernels_awaited}, {"flood", flood}, {"copies", copies},
             {"graphs", graphs}, {"spinning", spinning}, {"cooperative", cooperative}};

static void *answer(void *nothing) {
  char line[64];
  double start = now_seconds();
  while (fgets(line, sizeof line, stdin) != NULL) {
    printf("load %s: %lu units in %.3f s\n", kind, (unsigned long)atomic_load(&units),
           now_seconds() - start);
    fflush(stdout);
  }
  _exit(0);
  return nothing;
}

int main(int count, char **arguments) {
  char path[MAX_PATH];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof "load.ptx");
  char *slash = length < 0 ? NULL : (path[length] = 0, strrchr(path, '/'));
  if (count != 2 || slash == NULL) {
    fail("usage: load KIND");
  }
  strcpy(slash + 1, "load.ptx");
  kind = arguments[1];
  for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
    if (strcmp(kind, KINDS[i].name) == 0) {
      module = driver_start(path);
      CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
      CHECK(cuMemAlloc(&memory, COPY_BYTES));
      CHECK(cuMemAlloc(&other, COPY_BYTES));
      CHECK(cuMemsetD32(memory, 0, COPY_BYTES / 4));
      CHECK(cuMemsetD32(other, 0, COPY_BYTES / 4));
      CHECK(cuCtxSynchronize());
      pthread_t thread;
      if (pthread_create(&thread, NULL, answer, NULL) != 0) {
        fail("no thread to answer");
      }
      KINDS[i].run();
    }
  }
  fail("there is no load '%s'", kind);
}
