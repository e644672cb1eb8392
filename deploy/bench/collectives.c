// SPDX-License-Identifier: Apache-2.0
// One of two ranks of a communicator, which a script has carry out NCCL calls or training steps. Both ranks get the
// same lines on their standard input, and answer each with microseconds, or with a number of turns.
//
// Usage: collectives --rank R --id-file FILE --kernels FILE [--nccl LIBRARY]
//   CALL BYTES AWAITED QUEUED   the median of AWAITED calls with a wait each; a call of QUEUED in a row with one wait.
//                               BYTES as nccl-tests counts them: of the larger buffer
//   calibrate MICROS            how many turns the kernel needs for that time
//   step TURNS BYTES COUNT      the median of COUNT steps: the kernel, an all-reduce if there are bytes, and a wait
#include "../examples/nccl/ranks.h"
#include "figures.h"

enum { RANKS = 2, MOST = 100000, KERNEL_THREADS = 32, CALIBRATION_TURNS = 100000, CALIBRATIONS = 20 };
enum { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, SEND_RECEIVE, CALLS };

static const char *const names[CALLS] = {"all-reduce", "all-gather", "reduce-scatter", "broadcast", "send-receive"};

static struct ranks ranks;
static struct rank *own;
static CUfunction work;
static CUdeviceptr outgoing, incoming;
static size_t room;
static double micros[MOST];

/** Buffers of so many bytes; all that this rank sends is its number, from 1 on. */
static void make_room(size_t bytes) {
  float value = (float)(own->rank + 1);
  unsigned bits;
  if (bytes <= room) {
    return;
  }
  if (room > 0) {
    CHECK(cuMemFree(outgoing));
    CHECK(cuMemFree(incoming));
  }
  CHECK(cuMemAlloc(&outgoing, bytes));
  CHECK(cuMemAlloc(&incoming, bytes));
  memcpy(&bits, &value, sizeof bits);
  CHECK(cuMemsetD32(outgoing, bits, bytes / sizeof bits));
  CHECK(cuMemsetD32(incoming, 0, bytes / sizeof bits));
  CHECK(cuCtxSynchronize());
  room = bytes;
}

static void call(int kind, size_t bytes) {
  size_t count = bytes / sizeof(float), part = count / RANKS;
  ncclComm_t comm = own->comm;
  CUstream stream = own->stream;
  switch (kind) {
    case ALL_REDUCE:
      NCCL_CHECK(ncclAllReduce(outgoing, incoming, count, NCCL_FLOAT32, NCCL_SUM, comm, stream));
      break;
    case ALL_GATHER:
      NCCL_CHECK(ncclAllGather(outgoing, incoming, part, NCCL_FLOAT32, comm, stream));
      break;
    case REDUCE_SCATTER:
      NCCL_CHECK(ncclReduceScatter(outgoing, incoming, part, NCCL_FLOAT32, NCCL_SUM, comm, stream));
      break;
    case BROADCAST:
      NCCL_CHECK(ncclBroadcast(outgoing, incoming, count, NCCL_FLOAT32, 0, comm, stream));
      break;
    default:
      NCCL_CHECK(ncclGroupStart());
      NCCL_CHECK(ncclSend(outgoing, count, NCCL_FLOAT32, 1 - own->rank, comm, stream));
      NCCL_CHECK(ncclRecv(incoming, count, NCCL_FLOAT32, 1 - own->rank, comm, stream));
      NCCL_CHECK(ncclGroupEnd());
  }
}

/** The first and the last float are what the call makes of both ranks' numbers. */
static void verify(int kind, size_t bytes) {
  size_t length = kind == REDUCE_SCATTER ? bytes / RANKS : bytes;
  float first, last, other = (float)(RANKS - own->rank);
  float low = kind == SEND_RECEIVE ? other : kind == ALL_GATHER || kind == BROADCAST ? 1 : 1 + RANKS;
  float high = kind == ALL_GATHER ? RANKS : low;
  CHECK(cuMemcpyDtoH(&first, incoming, sizeof first));
  CHECK(cuMemcpyDtoH(&last, incoming + length - sizeof last, sizeof last));
  if (first != low || last != high) {
    fail("%s of %zu bytes made %g and %g", names[kind], bytes, first, last);
  }
  CHECK(cuMemsetD32(incoming, 0, length / sizeof(float)));
}

static void wait_for_all(void) { CHECK(cuStreamSynchronize(own->stream)); }

static void measure_call(int kind, size_t bytes, int awaited, int queued) {
  make_room(bytes);
  for (int i = 0; i < awaited; i++) {
    double start = now_seconds();
    call(kind, bytes);
    wait_for_all();
    micros[i] = (now_seconds() - start) * 1e6;
  }
  verify(kind, bytes);
  // An exchange, so that both begin together.
  call(SEND_RECEIVE, sizeof(float));
  wait_for_all();
  double start = now_seconds();
  for (int i = 0; i < queued; i++) {
    call(kind, bytes);
  }
  wait_for_all();
  printf("%.3f %.3f\n", median(micros, (size_t)awaited), (now_seconds() - start) * 1e6 / queued);
  verify(kind, bytes);
}

static double step(int turns, size_t bytes) {
  void *parameters[] = {&incoming, &turns};
  double start = now_seconds();
  CHECK(cuLaunchKernel(work, 1, 1, 1, KERNEL_THREADS, 1, 1, 0, own->stream, parameters, NULL));
  if (bytes > 0) {
    call(ALL_REDUCE, bytes);
  }
  wait_for_all();
  return (now_seconds() - start) * 1e6;
}

/** The fastest of several kernels counts; the first ones run before the code is compiled well. */
static void calibrate(double wanted) {
  double best = 1e9;
  make_room(KERNEL_THREADS * sizeof(float));
  for (int i = 0; i < CALIBRATIONS; i++) {
    double took = step(CALIBRATION_TURNS, 0);
    best = took < best ? took : best;
  }
  printf("%.0f\n", wanted / best * CALIBRATION_TURNS);
}

static void measure_steps(int turns, size_t bytes, int count) {
  make_room(bytes);
  for (int i = 0; i < count; i++) {
    micros[i] = step(turns, bytes);
  }
  printf("%.3f\n", median(micros, (size_t)count));
}

static int is_in_range(long number) { return number >= 1 && number <= MOST; }

static void obey(const char *line) {
  char name[32];
  long first = 0, second = 0, third = 0;
  int read = sscanf(line, "%31s %ld %ld %ld", name, &first, &second, &third);
  if (read == 2 && strcmp(name, "calibrate") == 0) {
    calibrate((double)first);
    return;
  }
  if (read == 4 && strcmp(name, "step") == 0 && is_in_range(third)) {
    measure_steps((int)first, (size_t)second, (int)third);
    return;
  }
  for (int kind = 0; kind < CALLS; kind++) {
    if (strcmp(name, names[kind]) == 0 && first >= 8 && is_in_range(second) && is_in_range(third)) {
      measure_call(kind, (size_t)first, (int)second, (int)third);
      return;
    }
  }
  fail("cannot do this: %s", line);
}

int main(int count, char **words) {
  struct rank_options options = {.ranks = RANKS, .rank = -1, .nccl = "libnccl.so.2"};
  const char *kernels = NULL;
  CUmodule module;
  for (int i = 1; i < count; i += 2) {
    if (i + 1 < count && strcmp(words[i], "--kernels") == 0) {
      kernels = words[i + 1];
    } else if (i + 1 >= count || !rank_option(&options, words[i], words[i + 1])) {
      fail("no such option, or no value: %s", words[i]);
    }
  }
  if (options.rank < 0 || options.id_file == NULL || kernels == NULL) {
    fail("usage: collectives --rank R --id-file FILE --kernels FILE [--nccl LIBRARY]");
  }
  ranks_start(&ranks, &options);
  own = &ranks.own_ranks[0];
  char *text = read_text(kernels);
  CHECK(cuModuleLoadData(&module, text));
  CHECK(cuModuleGetFunction(&work, module, "work"));
  free(text);
  printf("ready\n");
  fflush(stdout);
  for (char line[128]; fgets(line, sizeof line, stdin) != NULL;) {
    obey(line);
    fflush(stdout);
  }
  ranks_end(&ranks);
  return 0;
}
