// SPDX-License-Identifier: Apache-2.0
// One of several ranks of a communicator, which gpupool bench has carry out NCCL calls or training steps. All ranks get
// the same lines on their standard input, and answer each with microseconds, or with a number of turns.
//
// Usage: collectives --ranks N --rank R --id-file FILE --kernels FILE [--nccl LIBRARY]
//   CALL BYTES AWAITED QUEUED   the median of AWAITED calls with a wait each; a call of QUEUED in a row with one wait;
//                               the number of elements that are wrong. BYTES as nccl-tests counts them: of the larger
//                               buffer
//   calibrate MICROS            how many turns the kernel needs for that time
//   step TURNS BYTES COUNT      the median of COUNT steps: the kernel, an all-reduce if there are bytes, and a wait
#include "../examples/nccl/ranks.h"
#include "figures.h"

enum { MOST = 100000, KERNEL_THREADS = 32, CALIBRATION_TURNS = 100000, CALIBRATIONS = 20 };
enum { ALL_REDUCE, REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, SEND_RECEIVE, CALLS };

static const char *const names[CALLS] = {"all_reduce",     "reduce",   "broadcast", "all_gather",
                                         "reduce_scatter", "alltoall", "sendrecv"};

static struct ranks ranks;
static struct rank *own;
static CUfunction work;
static CUdeviceptr outgoing, incoming;
static float *results;
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
  results = realloc(results, bytes);
  if (results == NULL) {
    fail("no memory");
  }
  room = bytes;
}

static void call(int kind, size_t bytes) {
  size_t count = bytes / sizeof(float), part = count / (size_t)ranks.count;
  int next = (own->rank + 1) % ranks.count, previous = (own->rank + ranks.count - 1) % ranks.count;
  ncclComm_t comm = own->comm;
  CUstream stream = own->stream;
  switch (kind) {
    case ALL_REDUCE:
      NCCL_CHECK(ncclAllReduce(outgoing, incoming, count, NCCL_FLOAT32, NCCL_SUM, comm, stream));
      break;
    case REDUCE:
      NCCL_CHECK(ncclReduce(outgoing, incoming, count, NCCL_FLOAT32, NCCL_SUM, 0, comm, stream));
      break;
    case BROADCAST:
      NCCL_CHECK(ncclBroadcast(outgoing, incoming, count, NCCL_FLOAT32, 0, comm, stream));
      break;
    case ALL_GATHER:
      NCCL_CHECK(ncclAllGather(outgoing, incoming, part, NCCL_FLOAT32, comm, stream));
      break;
    case REDUCE_SCATTER:
      NCCL_CHECK(ncclReduceScatter(outgoing, incoming, part, NCCL_FLOAT32, NCCL_SUM, comm, stream));
      break;
    case ALL_TO_ALL:
      NCCL_CHECK(ncclAlltoAll(outgoing, incoming, part, NCCL_FLOAT32, comm, stream));
      break;
    default:
      NCCL_CHECK(ncclGroupStart());
      NCCL_CHECK(ncclSend(outgoing, count, NCCL_FLOAT32, next, comm, stream));
      NCCL_CHECK(ncclRecv(incoming, count, NCCL_FLOAT32, previous, comm, stream));
      NCCL_CHECK(ncclGroupEnd());
  }
}

/** The float that a call leaves in this rank's buffer at an index. */
static float expected(int kind, size_t part, size_t index) {
  switch (kind) {
    case BROADCAST:
      return 1;
    case ALL_GATHER:
    case ALL_TO_ALL:
      return (float)(index / part + 1);
    case SEND_RECEIVE:
      return (float)(own->rank == 0 ? ranks.count : own->rank);
    default:
      return (float)(ranks.count * (ranks.count + 1) / 2);
  }
}

/** Returns how many floats are not what the call makes of all ranks' numbers. */
static long count_wrong(int kind, size_t bytes) {
  size_t part = bytes / sizeof(float) / (size_t)ranks.count;
  size_t count = kind == REDUCE_SCATTER ? part : bytes / sizeof(float);
  long wrong = 0;
  if (kind == REDUCE && own->rank != 0) {
    return 0;
  }
  CHECK(cuMemcpyDtoH(results, incoming, count * sizeof(float)));
  for (size_t i = 0; i < count; i++) {
    wrong += results[i] != expected(kind, part, i);
  }
  CHECK(cuMemsetD32(incoming, 0, count));
  return wrong;
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
  long wrong = count_wrong(kind, bytes);
  // An exchange, so that all begin together.
  call(ALL_REDUCE, sizeof(float));
  wait_for_all();
  double start = now_seconds();
  for (int i = 0; i < queued; i++) {
    call(kind, bytes);
  }
  wait_for_all();
  double took = (now_seconds() - start) * 1e6 / queued;
  printf("%.3f %.3f %ld\n", median(micros, (size_t)awaited), took, wrong + count_wrong(kind, bytes));
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
    if (strcmp(name, names[kind]) == 0 && first >= (long)sizeof(float) * ranks.count && is_in_range(second) && is_in_range(third)) {
      measure_call(kind, (size_t)first, (int)second, (int)third);
      return;
    }
  }
  fail("cannot do this: %s", line);
}

int main(int count, char **words) {
  struct rank_options options = {.rank = -1, .nccl = "libnccl.so.2"};
  const char *kernels = NULL;
  CUmodule module;
  for (int i = 1; i < count; i += 2) {
    if (i + 1 < count && strcmp(words[i], "--kernels") == 0) {
      kernels = words[i + 1];
    } else if (i + 1 >= count || !rank_option(&options, words[i], words[i + 1])) {
      fail("no such option, or no value: %s", words[i]);
    }
  }
  if (options.ranks < 1 || options.rank < 0 || options.id_file == NULL || kernels == NULL) {
    fail("usage: collectives --ranks N --rank R --id-file FILE --kernels FILE [--nccl LIBRARY]");
  }
  ranks_start(&ranks, &options);
  own = &ranks.own_ranks[0];
  char *text = read_text(kernels);
  CHECK(cuModuleLoadData(&module, text));
  CHECK(cuModuleGetFunction(&work, module, "work"));
  make_room(KERNEL_THREADS * sizeof(float));
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
