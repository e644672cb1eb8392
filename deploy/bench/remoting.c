// SPDX-License-Identifier: Apache-2.0
// Measures the cost of calls: launches, copies, allocations and events on the libcuda.so.1 that is found,
// and beside them, in the same run, the limits of a TCP loopback connection.
//
// Usage: remoting [--json] [--copy-mib N] [--launches N] [--rounds N] [--busy N]
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../examples/driver-api/driver.h"
#include "figures.h"

static const char PTX[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n{\n"
    ".reg .pred %p<2>;\n.reg .b32 %r<6>;\n.reg .f32 %f<4>;\n.reg .b64 %rd<8>;\n"
    "ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nld.param.u64 %rd3, [c];\n"
    "ld.param.u32 %r1, [n];\n"
    "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\n"
    "mad.lo.s32 %r5, %r2, %r3, %r4;\nsetp.ge.s32 %p1, %r5, %r1;\n@%p1 bra done;\n"
    "cvta.to.global.u64 %rd1, %rd1;\ncvta.to.global.u64 %rd2, %rd2;\ncvta.to.global.u64 %rd3, %rd3;\n"
    "mul.wide.s32 %rd4, %r5, 4;\nadd.s64 %rd1, %rd1, %rd4;\nadd.s64 %rd2, %rd2, %rd4;\n"
    "add.s64 %rd3, %rd3, %rd4;\nld.global.f32 %f1, [%rd1];\nld.global.f32 %f2, [%rd2];\n"
    "add.f32 %f3, %f1, %f2;\nst.global.f32 [%rd3], %f3;\ndone:\nret;\n}\n";

struct options {
  size_t copy_bytes;
  int launches;
  int rounds;
  int busy;
};

enum { MOST_BUSY = 1024 };

static struct options options = {(size_t)256 << 20, 200000, 5000, 0};
static const char *prefix = "";

static void percentiles(const char *name, double *micros, int count) {
  const struct {
    const char *name;
    long place;
  } shown[] = {{"p50", count / 2}, {"p99", (long)count * 99 / 100}, {"max", count - 1}};
  sort(micros, (size_t)count);
  for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
    char label[64];
    snprintf(label, sizeof label, "%s%s_%s", prefix, name, shown[i].name);
    figure(label, micros[shown[i].place], "us");
  }
}

#define EACH_ROUND(name, statement) \
  do { \
    double *micros = malloc(sizeof(double) * (size_t)options.rounds); \
    if (micros == NULL) { \
      fail("no memory for %d rounds", options.rounds); \
    } \
    for (int round = 0; round < options.rounds; round++) { \
      double start = now_seconds(); \
      statement; \
      micros[round] = (now_seconds() - start) * 1e6; \
    } \
    percentiles(name, micros, options.rounds); \
    free(micros); \
  } while (0)

// ---- the floor: one TCP connection over loopback, the other end a thread of this process

enum { PING_BYTES = 64, STREAM_CHUNK = 1 << 20 };

static void transfer(int socket, char *bytes, size_t count, int sending) {
  while (count > 0) {
    ssize_t done = sending ? write(socket, bytes, count) : read(socket, bytes, count);
    if (done <= 0) {
      fail("the loopback connection broke: %m");
    }
    bytes += done;
    count -= (size_t)done;
  }
}

static void *other_end(void *argument) {
  int listener = *(int *)argument;
  int socket = accept(listener, NULL, NULL), on = 1;
  if (socket < 0 || setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) {
    fail("no connection over loopback: %m");
  }
  char ping[PING_BYTES];
  for (int round = 0; round < options.rounds; round++) {
    transfer(socket, ping, sizeof ping, 0);
    transfer(socket, ping, sizeof ping, 1);
  }
  close(listener);
  char *chunk = malloc(STREAM_CHUNK);
  if (chunk == NULL) {
    fail("no memory for a chunk");
  }
  for (size_t taken = 0; taken < options.copy_bytes; taken += STREAM_CHUNK) {
    transfer(socket, chunk, STREAM_CHUNK, 0);
  }
  transfer(socket, ping, 1, 1);
  free(chunk);
  close(socket);
  return NULL;
}

// Connects to a thread of this process.
static int loopback(pthread_t *thread) {
  static int listener;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int on = 1;
  listener = socket(AF_INET, SOCK_STREAM, 0);
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) != 0 ||
      getsockname(listener, (struct sockaddr *)&address, &length) != 0 || listen(listener, 1) != 0) {
    fail("no listener on loopback: %m");
  }
  int connection = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(connection, (struct sockaddr *)&address, length) != 0 ||
      setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) {
    fail("no connection over loopback: %m");
  }
  if (pthread_create(thread, NULL, other_end, &listener) != 0) {
    fail("no thread for the other end");
  }
  return connection;
}

static void measure_loopback(char *bytes) {
  pthread_t thread;
  int connection = loopback(&thread);
  char ping[PING_BYTES] = {0};
  EACH_ROUND("tcp_ping_pong", {
    transfer(connection, ping, sizeof ping, 1);
    transfer(connection, ping, sizeof ping, 0);
  });
  double start = now_seconds();
  for (size_t sent = 0; sent < options.copy_bytes; sent += STREAM_CHUNK) {
    transfer(connection, bytes + sent, STREAM_CHUNK, 1);
  }
  transfer(connection, ping, 1, 0);
  double rate = (double)options.copy_bytes / (now_seconds() - start) / 1e9;
  if (!*prefix) {
    figure("tcp_stream", rate, "GBps");
  }
  pthread_join(thread, NULL);
  close(connection);
}

// ---- the driver

#define LAUNCH() CHECK(cuLaunchKernel(add, 1, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL))

struct launch_rate {
  double caller_micros, per_second;
};

static struct launch_rate launch_many(CUfunction add, void **parameters) {
  double start = now_seconds();
  for (int i = 0; i < options.launches; i++) {
    LAUNCH();
  }
  double posted = now_seconds();
  CHECK(cuCtxSynchronize());
  return (struct launch_rate){(posted - start) / options.launches * 1e6,
                              options.launches / (now_seconds() - start)};
}

// The first round and the best of those that follow: the worker compiles what runs often.
static void measure_launches(CUfunction add, CUdeviceptr memory) {
  int none = 0;
  void *parameters[] = {&memory, &memory, &memory, &none};
  LAUNCH();
  CHECK(cuCtxSynchronize());
  struct launch_rate first = launch_many(add, parameters), best = {0, 0};
  for (int round = 0; round < 5; round++) {
    struct launch_rate rate = launch_many(add, parameters);
    if (rate.per_second > best.per_second) {
      best = rate;
    }
  }
  figure("launch_first", first.caller_micros, "us");
  figure("launches_first", first.per_second, "per_s");
  figure("launch", best.caller_micros, "us");
  figure("launches", best.per_second, "per_s");
}

static void measure_synchronous(CUfunction add, CUdeviceptr memory) {
  int none = 0, value = 1;
  void *parameters[] = {&memory, &memory, &memory, &none};
  EACH_ROUND("launch_sync", {
    LAUNCH();
    CHECK(cuStreamSynchronize(NULL));
  });
  EACH_ROUND("d2h_4B", CHECK(cuMemcpyDtoH(&value, memory, sizeof value)));
  EACH_ROUND("h2d_4B", CHECK(cuMemcpyHtoD(memory, &value, sizeof value)));
}

// Processes that compute beside, without end.
static void start_busy(pid_t *processes) {
  pid_t mine = getpid();
  for (int i = 0; i < options.busy; i++) {
    processes[i] = fork();
    if (processes[i] < 0) {
      fail("no process to be busy: %m");
    }
    if (processes[i] == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      while (getppid() == mine) {
        for (volatile int turn = 0; turn < 1 << 20; turn++) {
        }
      }
      _exit(0);
    }
  }
}

static void end_busy(const pid_t *processes) {
  for (int i = 0; i < options.busy; i++) {
    kill(processes[i], SIGKILL);
    waitpid(processes[i], NULL, 0);
  }
}

// The same calls and the same floor while other processes want the processors.
static void measure_busy(CUfunction add, CUdeviceptr memory, char *bytes) {
  static pid_t processes[MOST_BUSY];
  if (options.busy == 0) {
    return;
  }
  prefix = "busy_";
  start_busy(processes);
  measure_synchronous(add, memory);
  measure_loopback(bytes);
  end_busy(processes);
  prefix = "";
}

// The first run, which touches what it needs for the first time, and the better of two.
#define BANDWIDTH(name, statement) \
  do { \
    double rates[2]; \
    for (int run = 0; run < 2; run++) { \
      double start = now_seconds(); \
      statement; \
      CHECK(cuCtxSynchronize()); \
      rates[run] = (double)options.copy_bytes / (now_seconds() - start) / 1e9; \
    } \
    figure(name "_first", rates[0], "GBps"); \
    figure(name, rates[0] > rates[1] ? rates[0] : rates[1], "GBps"); \
  } while (0)

static void measure_large_copies(CUdeviceptr memory, char *pageable) {
  size_t bytes = options.copy_bytes;
  void *pinned;
  CHECK(cuMemAllocHost(&pinned, bytes));
  memcpy(pinned, pageable, bytes);
  // Device memory may be memory of the host, of which the first use is not what is measured.
  CHECK(cuMemsetD32(memory, 0, bytes / 4));
  CHECK(cuCtxSynchronize());
  BANDWIDTH("h2d_pageable", CHECK(cuMemcpyHtoD(memory, pageable, bytes)));
  BANDWIDTH("d2h_pageable", CHECK(cuMemcpyDtoH(pageable, memory, bytes)));
  BANDWIDTH("h2d_pinned", CHECK(cuMemcpyHtoDAsync(memory, pinned, bytes, NULL)));
  BANDWIDTH("d2h_pinned", CHECK(cuMemcpyDtoHAsync(pinned, memory, bytes, NULL)));
  if (memcmp(pinned, pageable, bytes) != 0) {
    fail("the bytes that came back are not those that were sent");
  }
  CHECK(cuMemFreeHost(pinned));
}

static void measure_allocations(void) {
  enum { COUNT = 500 };
  CUdeviceptr blocks[COUNT];
  double start = now_seconds();
  for (int i = 0; i < COUNT; i++) {
    CHECK(cuMemAlloc(&blocks[i], 1 << 16));
  }
  for (int i = 0; i < COUNT; i++) {
    CHECK(cuMemFree(blocks[i]));
  }
  figure("malloc_free", (now_seconds() - start) / COUNT * 1e6, "us");
  CUdeviceptr block;
  EACH_ROUND("malloc_free", {
    CHECK(cuMemAlloc(&block, 1 << 16));
    CHECK(cuMemFree(block));
  });
}

static void measure_events(void) {
  CUevent first, second;
  CHECK(cuEventCreate(&first, 0));
  CHECK(cuEventCreate(&second, 0));
  EACH_ROUND("event_pair_sync", {
    CHECK(cuEventRecord(first, NULL));
    CHECK(cuEventRecord(second, NULL));
    CHECK(cuEventSynchronize(second));
  });
  CHECK(cuEventDestroy(first));
  CHECK(cuEventDestroy(second));
}

static void parse(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--json") == 0) {
      figures_as_json = 1;
      continue;
    }
    long value = i + 1 < argc ? strtol(argv[i + 1], NULL, 10) : 0;
    if (value > 0 && value <= 1 << 20 && strcmp(argv[i], "--copy-mib") == 0) {
      options.copy_bytes = (size_t)value << 20;
    } else if (value > 0 && value <= 1 << 30 && strcmp(argv[i], "--launches") == 0) {
      options.launches = (int)value;
    } else if (value > 0 && value <= 1 << 30 && strcmp(argv[i], "--rounds") == 0) {
      options.rounds = (int)value;
    } else if (value > 0 && value <= MOST_BUSY && strcmp(argv[i], "--busy") == 0) {
      options.busy = (int)value;
    } else {
      fprintf(stderr, "usage: remoting [--json] [--copy-mib N] [--launches N] [--rounds N] [--busy N]\n");
      exit(2);
    }
    i++;
  }
}

int main(int argc, char **argv) {
  parse(argc, argv);
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction add;
  CUdeviceptr memory;
  double start = now_seconds();
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuMemAlloc(&memory, options.copy_bytes));
  figure("init", (now_seconds() - start) * 1e3, "ms");
  CHECK(cuModuleLoadData(&module, PTX));
  CHECK(cuModuleGetFunction(&add, module, "add"));
  char *pageable = malloc(options.copy_bytes);
  if (pageable == NULL) {
    fail("no memory for %zu bytes", options.copy_bytes);
  }
  // Bytes that do not compress.
  uint64_t state = 1;
  for (size_t i = 0; i < options.copy_bytes; i += sizeof state) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    uint64_t mixed = (state ^ state >> 29) * 0xbf58476d1ce4e5b9ULL;
    memcpy(pageable + i, &mixed, sizeof mixed);
  }
  measure_launches(add, memory);
  measure_synchronous(add, memory);
  measure_large_copies(memory, pageable);
  measure_allocations();
  measure_events();
  measure_loopback(pageable);
  measure_busy(add, memory, pageable);
  figures_end();
  free(pageable);
  CHECK(cuMemFree(memory));
  return 0;
}
