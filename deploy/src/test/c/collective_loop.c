// SPDX-License-Identifier: Apache-2.0
// A rank that adds up numbers with the others, over and over, until that fails.
// Usage: collective_loop [--ranks N] [--rank R --id-file FILE] [--abort-at STEP] [--steps N] [--count ELEMENTS]
//
//   pid N            first of all
//   joined           all ranks are there
//   step N           after each sum
//   call CODE        what a call of NCCL returned, or cuda CODE: what one of CUDA did, if it is an error
//   error CODE TEXT  what ncclCommGetAsyncError says then
//   aborted          after ncclCommAbort; it ends with status 3
//
// With --abort-at it gives up at that step without an error, prints "aborted", and waits for the end of its input.
#include "../../../examples/nccl/ranks.h"

enum { FAILED = 3, PAUSE_MICROS = 2000, DEFAULT_COUNT = 1000 };

static struct ranks ranks;
static CUdeviceptr ones, sum;
static uint64_t count = DEFAULT_COUNT;

static void say(const char *what) {
  printf("%s\n", what);
  fflush(stdout);
}

static void abort_all(void) {
  for (int i = 0; i < ranks.own; i++) {
    NCCL_CHECK(ncclCommAbort(ranks.own_ranks[i].comm));
  }
  say("aborted");
}

static int ends(const char *what, int code) {
  int state = 0;
  ncclComm_t comm = ranks.own_ranks[0].comm;
  printf("%s %d\n", what, code);
  NCCL_CHECK(ncclCommGetAsyncError(comm, &state));
  printf("error %d %s\n", state, ncclGetLastError(comm));
  abort_all();
  return FAILED;
}

/** Adds up; returns the status to end with. */
static int step(const struct rank *rank, int number) {
  int32_t first = 0;
  int result = ncclAllReduce(ones, sum, count, NCCL_INT32, NCCL_SUM, rank->comm, rank->stream);
  if (result != 0) {
    return ends("call", result);
  }
  result = (int)cuStreamSynchronize(rank->stream);
  if (result == 0) {
    result = (int)cuMemcpyDtoH(&first, sum + (count - 1) * sizeof first, sizeof first);
  }
  if (result != 0) {
    return ends("cuda", result);
  }
  if (first != ranks.count) {
    fail("step %d: the sum is %d, not %d", number, first, ranks.count);
  }
  printf("step %d\n", number);
  fflush(stdout);
  return 0;
}

int main(int argc, char **argv) {
  struct rank_options options = {.rank = -1, .nccl = "libnccl.so.2"};
  int abort_at = -1, steps = INT32_MAX;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--abort-at") == 0) {
      abort_at = atoi(argv[i + 1]);
    } else if (strcmp(argv[i], "--steps") == 0) {
      steps = atoi(argv[i + 1]);
    } else if (strcmp(argv[i], "--count") == 0) {
      count = strtoull(argv[i + 1], NULL, 0);
    } else if (!rank_option(&options, argv[i], argv[i + 1])) {
      fail("there is no option %s", argv[i]);
    }
  }
  printf("pid %d\n", (int)getpid());
  fflush(stdout);
  ranks_start(&ranks, &options);
  say("joined");
  const struct rank *rank = &ranks.own_ranks[0];
  CHECK(cuMemAlloc(&ones, count * sizeof(int32_t)));
  CHECK(cuMemAlloc(&sum, count * sizeof(int32_t)));
  CHECK(cuMemsetD32(ones, 1, count));
  CHECK(cuCtxSynchronize());
  for (int i = 0; i < steps; i++) {
    if (i == abort_at) {
      abort_all();
      while (getchar() != EOF) {
      }
      return 0;
    }
    int status = step(rank, i);
    if (status != 0) {
      return status;
    }
    usleep(PAUSE_MICROS);
  }
  ranks_end(&ranks);
  say("collective_loop: OK");
  return 0;
}
