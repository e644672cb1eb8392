// SPDX-License-Identifier: Apache-2.0
// Keeps a GPU busy in one of several ways until its standard input ends. It answers each line there with its work so
// far: "load KIND: COUNT units in SECONDS s"; a load that serves requests adds ", wait p99 MICROS us", which covers the
// requests since the line before.
//
// Usage: load KIND [NANOS [PROCESSES]]     load.ptx lies beside the program
//   NANOS      of each kernel, for the kinds that are timed: eager, graph, each, rarely, queue, serve
//   PROCESSES  that do the same, 1 by default; their work is added up
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../examples/driver-api/driver.h"
#include "figures.h"

enum { MAX_PATH = 4096, THREADS = 128, BLOCKS = 64, COPY_BYTES = 8 << 20, HOST_BYTES = 64 << 10, NODES = 16,
       TIMED_NODES = 100, TIMED_THREADS = 32, QUEUE = 100000, MAX_PROCESSES = 16 };

static atomic_ulong *units;  // of all processes
static const char *kind;
static unsigned long long nanos;
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
  atomic_fetch_add(units, count);
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

// Posts as much as the queue takes, and never waits.
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

// Kernels that take the time that they are given, one block each.

static void launch_timed(CUfunction spin) {
  void *parameters[] = {&nanos};
  CHECK(cuLaunchKernel(spin, 1, 1, 1, TIMED_THREADS, 1, 1, 0, stream, parameters, NULL));
}

enum { MAX_AHEAD = 200, MAX_UNDER_WAY = 4096 };

// Posts steps of `count` kernels each; at most `ahead` steps are under way at a time.
static void stay_ahead(unsigned ahead, unsigned long count, void (*step)(void *what, unsigned long count), void *what) {
  CUevent events[MAX_AHEAD];
  for (unsigned i = 0; i < ahead; i++) {
    CHECK(cuEventCreate(&events[i], CU_EVENT_DISABLE_TIMING));
  }
  for (unsigned long i = 0;; i++) {
    if (i >= ahead) {
      CHECK(cuEventSynchronize(events[i % ahead]));
      done(count);
    }
    step(what, count);
    CHECK(cuEventRecord(events[i % ahead], stream));
  }
}

static void launch_many(void *spin, unsigned long count) {
  for (unsigned long i = 0; i < count; i++) {
    launch_timed(spin);
  }
}

// One after the other, some 10 ms of them under way at a time.
static void eager(void) {
  unsigned long under_way = nanos < 10000000 ? 10000000 / (nanos + 1) + 2 : 2;
  if (under_way > MAX_UNDER_WAY) under_way = MAX_UNDER_WAY;
  stay_ahead(4, under_way / 4 + 1, launch_many, kernel("spin_ns"));
}

// A hundred thousand at a time.
static void timed_queue(void) {
  stay_ahead(MAX_AHEAD, QUEUE / MAX_AHEAD, launch_many, kernel("spin_ns"));
}

static void launch_graph(void *executable, unsigned long count) {
  (void)count;
  CHECK(cuGraphLaunch(executable, stream));
}

static void timed_graphs(void) {
  CUfunction spin = kernel("spin_ns");
  CUgraph graph;
  CUgraphExec executable;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  launch_many(spin, TIMED_NODES);
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphInstantiateWithFlags(&executable, graph, 0));
  stay_ahead(2, TIMED_NODES, launch_graph, executable);
}

static void timed_awaited(void) {
  CUfunction spin = kernel("spin_ns");
  for (;;) {
    launch_timed(spin);
    CHECK(cuStreamSynchronize(stream));
    done(1);
  }
}

// Sleeps until a period after the last one is over; if that has passed, the next period begins now.
static void await_period(double *next, double seconds) {
  *next += seconds;
  double rest = *next - now_seconds();
  if (rest > 0) {
    usleep((useconds_t)(rest * 1e6));
  } else {
    *next = now_seconds();
  }
}

// Works for a twentieth of the time, as long as it gets the GPU at once.
static void timed_rarely(void) {
  CUfunction spin = kernel("spin_ns");
  double next = now_seconds();
  for (;;) {
    launch_timed(spin);
    CHECK(cuStreamSynchronize(stream));
    done(1);
    await_period(&next, 20e-9 * (double)nanos);
  }
}

static void copy_many(void *nothing, unsigned long count) {
  (void)nothing;
  for (unsigned long i = 0; i < count; i++) {
    CHECK(cuMemcpyDtoDAsync(other, memory, COPY_BYTES, stream));
  }
}

// On the device, one after the other; units are copies.
static void device_copies(void) {
  stay_ahead(4, 32, copy_many, NULL);
}

// Requests: a kernel every 20 ms, and a wait for its result. The wait counts beyond the time of the kernel.

static const double PERIOD_SECONDS = 0.02;

enum { MAX_WAITS = 1 << 16 };

static double waits[MAX_WAITS];
static unsigned wait_count;
static pthread_mutex_t waits_lock = PTHREAD_MUTEX_INITIALIZER;

static void note_wait(double seconds) {
  pthread_mutex_lock(&waits_lock);
  if (wait_count < MAX_WAITS) {
    waits[wait_count++] = seconds;
  }
  pthread_mutex_unlock(&waits_lock);
}

/** Seconds that 99 of 100 requests did not exceed since the last time; 0 if there were none. */
static double take_p99(void) {
  pthread_mutex_lock(&waits_lock);
  sort(waits, wait_count);
  double p99 = wait_count == 0 ? 0 : waits[(wait_count - 1) * 99ul / 100];
  wait_count = 0;
  pthread_mutex_unlock(&waits_lock);
  return p99;
}

static void serve(void) {
  CUfunction spin = kernel("spin_ns");
  double next = now_seconds();
  for (;;) {
    double begin = now_seconds();
    launch_timed(spin);
    CHECK(cuStreamSynchronize(stream));
    note_wait(now_seconds() - begin - 1e-9 * (double)nanos);
    done(1);
    await_period(&next, PERIOD_SECONDS);
  }
}

// A kernel that never ends; the program counts nothing any more.
static void hang(void) {
  CHECK(cuLaunchKernel(kernel("hang"), 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
  CHECK(cuStreamSynchronize(stream));
}

// From the host and back; units are bytes.
static void host_copies(void) {
  void *host;
  CHECK(cuMemAllocHost(&host, COPY_BYTES));
  memset(host, 1, COPY_BYTES);
  for (;;) {
    CHECK(cuMemcpyHtoDAsync(memory, host, COPY_BYTES, stream));
    CHECK(cuMemcpyDtoHAsync(host, memory, COPY_BYTES, stream));
    CHECK(cuStreamSynchronize(stream));
    done(2 * COPY_BYTES);
  }
}

static const struct {
  const char *name;
  void (*run)(void);
} KINDS[] = {{"kernels", many_kernels}, {"long", few_kernels}, {"tiny", tiny_kernels},
             {"awaited", tiny_kernels_awaited}, {"flood", flood}, {"copies", copies},
             {"graphs", graphs}, {"spinning", spinning}, {"cooperative", cooperative},
             {"eager", eager}, {"graph", timed_graphs}, {"each", timed_awaited}, {"rarely", timed_rarely},
             {"queue", timed_queue}, {"hostcopies", host_copies}, {"devicecopies", device_copies}, {"serve", serve},
             {"hang", hang}};

static void *answer(void *nothing) {
  char line[64];
  double start = now_seconds();
  while (fgets(line, sizeof line, stdin) != NULL) {
    printf("load %s: %lu units in %.3f s", kind, (unsigned long)atomic_load(units), now_seconds() - start);
    double p99 = take_p99();
    if (p99 > 0) {
      printf(", wait p99 %.0f us", 1e6 * p99);
    }
    putchar('\n');
    fflush(stdout);
  }
  _exit(0);
  return nothing;
}

// The first process answers; the others end with it.
static bool is_other_process(int processes) {
  for (int i = 1; i < processes; i++) {
    pid_t child = fork();
    if (child < 0) {
      fail("no process to work besides");
    }
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      return true;
    }
  }
  return false;
}

int main(int count, char **arguments) {
  char path[MAX_PATH];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof "load.ptx");
  char *slash = length < 0 ? NULL : (path[length] = 0, strrchr(path, '/'));
  int processes = count > 3 ? atoi(arguments[3]) : 1;
  if (count < 2 || count > 4 || slash == NULL || processes < 1 || processes > MAX_PROCESSES) {
    fail("usage: load KIND [NANOS [PROCESSES]]");
  }
  strcpy(slash + 1, "load.ptx");
  kind = arguments[1];
  nanos = count > 2 ? strtoull(arguments[2], NULL, 10) : 0;
  units = mmap(NULL, sizeof *units, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (units == MAP_FAILED) {
    fail("no memory to count in");
  }
  bool other_process = is_other_process(processes);
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
      if (!other_process && pthread_create(&thread, NULL, answer, NULL) != 0) {
        fail("no thread to answer");
      }
      KINDS[i].run();
    }
  }
  fail("there is no load '%s'", kind);
}
