// SPDX-License-Identifier: Apache-2.0
// Each kind of call of NCCL once, with arguments that tell it from others. Results are not looked at.
// Usage: nccl_calls [--ranks N] [--rank R --id-file FILE] [--wait 1]
// With --wait it makes none, prints "pid N", "joined", and then "error CODE" once ncclCommGetAsyncError has one; it waits for
// the end of its input then.
#include "../../../examples/nccl/ranks.h"

enum { BYTES = 1 << 20, MILLI = 1000 };

static struct ranks ranks;
static CUdeviceptr memory[MAX_RANKS], other[MAX_RANKS];
static CUstream second[MAX_RANKS];

#define ALL(call) \
  do { \
    NCCL_CHECK(ncclGroupStart()); \
    for (int i = 0; i < ranks.own; i++) { \
      const struct rank *at = &ranks.own_ranks[i]; \
      rank_enter(at); \
      NCCL_CHECK(call); \
    } \
    NCCL_CHECK(ncclGroupEnd()); \
  } while (0)

static void multiplied(void) {
  float factor = 2;
  int ops[MAX_RANKS];
  for (int i = 0; i < ranks.own; i++) {
    NCCL_CHECK(ncclRedOpCreatePreMulSum(&ops[i], &factor, NCCL_FLOAT32, NCCL_SCALAR_HOST, ranks.own_ranks[i].comm));
  }
  ALL(ncclAllReduce(memory[i], other[i], 17, NCCL_FLOAT32, ops[i], at->comm, at->stream));
  for (int i = 0; i < ranks.own; i++) {
    NCCL_CHECK(ncclRedOpDestroy(ops[i], ranks.own_ranks[i].comm));
  }
}

static void transfers(void) {
  NCCL_CHECK(ncclGroupStart());
  for (int i = 0; i < ranks.own; i++) {
    const struct rank *at = &ranks.own_ranks[i];
    int next = (at->rank + 1) % ranks.count, before = (at->rank + ranks.count - 1) % ranks.count;
    NCCL_CHECK(ncclSend(memory[i], 18, NCCL_INT32, next, at->comm, at->stream));
    NCCL_CHECK(ncclRecv(other[i], 18, NCCL_INT32, before, at->comm, at->stream));
  }
  NCCL_CHECK(ncclGroupEnd());
}

static void captured(void) {
  CUgraph graph;
  CUgraphExec executables[MAX_RANKS];
  for (int i = 0; i < ranks.own; i++) {
    rank_enter(&ranks.own_ranks[i]);
    CHECK(cuStreamBeginCapture(ranks.own_ranks[i].stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  }
  ALL(ncclAllReduce(memory[i], other[i], 19, NCCL_FLOAT64, NCCL_MAX, at->comm, at->stream));
  for (int i = 0; i < ranks.own; i++) {
    rank_enter(&ranks.own_ranks[i]);
    CHECK(cuStreamEndCapture(ranks.own_ranks[i].stream, &graph));
    CHECK(cuGraphInstantiateWithFlags(&executables[i], graph, 0));
  }
  for (int launch = 0; launch < 2; launch++) {
    for (int i = 0; i < ranks.own; i++) {
      rank_enter(&ranks.own_ranks[i]);
      CHECK(cuGraphLaunch(executables[i], ranks.own_ranks[i].stream));
    }
  }
}

static void split(void) {
  ncclComm_t parts[MAX_RANKS];
  ALL(ncclCommSplit(at->comm, 3, ranks.count - at->rank, &parts[i], NULL));
  ALL(ncclAllReduce(memory[i], other[i], 20, NCCL_BFLOAT16, NCCL_SUM, parts[i], at->stream));
  ranks_wait(&ranks);
  for (int i = 0; i < ranks.own; i++) {
    NCCL_CHECK(ncclCommDestroy(parts[i]));
  }
}

static void each_kind(void) {
  ALL(ncclAllReduce(memory[i], other[i], 11, NCCL_FLOAT32, NCCL_SUM, at->comm, at->stream));
  ALL(ncclBroadcast(memory[i], other[i], 12, NCCL_INT8, 1, at->comm, at->stream));
  ALL(ncclReduce(memory[i], other[i], 13, NCCL_UINT64, NCCL_PROD, 1, at->comm, at->stream));
  ALL(ncclAllGather(memory[i], other[i], 14, NCCL_FLOAT16, at->comm, second[i]));
  ALL(ncclReduceScatter(memory[i], other[i], 15, NCCL_INT64, NCCL_AVG, at->comm, at->stream));
  ALL(ncclAlltoAll(memory[i], other[i], 16, NCCL_UINT8, at->comm, at->stream));
  multiplied();
  transfers();
  captured();
  ranks_wait(&ranks);
  split();
}

static int await_error(void) {
  int error = 0;
  printf("pid %d\njoined\n", (int)getpid());
  fflush(stdout);
  while (error == 0) {
    NCCL_CHECK(ncclCommGetAsyncError(ranks.own_ranks[0].comm, &error));
    usleep(MILLI);
  }
  printf("error %d %s\n", error, ncclGetLastError(ranks.own_ranks[0].comm));
  fflush(stdout);
  while (getchar() != EOF) {
  }
  NCCL_CHECK(ncclCommAbort(ranks.own_ranks[0].comm));
  return 0;
}

int main(int argc, char **argv) {
  struct rank_options options = {.rank = -1, .nccl = "libnccl.so.2"};
  int waits = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--wait") == 0) {
      waits = 1;
    } else if (!rank_option(&options, argv[i], argv[i + 1])) {
      fail("there is no option %s", argv[i]);
    }
  }
  ranks_start(&ranks, &options);
  for (int i = 0; i < ranks.own; i++) {
    rank_enter(&ranks.own_ranks[i]);
    CHECK(cuMemAlloc(&memory[i], BYTES));
    CHECK(cuMemAlloc(&other[i], BYTES));
    CHECK(cuStreamCreate(&second[i], CU_STREAM_NON_BLOCKING));
  }
  if (waits) {
    return await_error();
  }
  each_kind();
  ranks_wait(&ranks);
  ranks_end(&ranks);
  printf("nccl_calls: OK\n");
  return 0;
}
