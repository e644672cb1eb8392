// SPDX-License-Identifier: Apache-2.0
// A program that takes commands: it answers each line of its standard input with a line.
//
//   pid              pid N
//   info             info TOTAL_BYTES FREE_BYTES
//   alloc BYTES      alloc RESULT
//   free             free RESULT              (everything that alloc got)
//   work ROUNDS      work RESULT              (kernels whose results are checked; -1: wrong result)
//   steady           steady 0                 (starts to work in another thread, and sees it at work)
//   stop             stop RESULT ROUNDS       (ends that thread after one more round)
//   spin ROUNDS      spin RESULT              (posts a long kernel and does not wait)
//   fault            fault RESULT             (writes out of range and synchronizes)
//   sync             sync RESULT
//   exit STATUS, leave STATUS, segv           (exit(), _exit(), a segmentation fault)
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "../../../examples/driver-api/driver.h"

enum { COUNT = 1 << 14, MAX_BLOCKS = 1024 };

struct worker {
  CUstream stream;
  CUdeviceptr values, launches;
  unsigned total;
};

static CUcontext context;
static CUfunction increment, write_at, spin;
static CUdeviceptr blocks[MAX_BLOCKS];
static int block_count;
static atomic_int stopping;
static atomic_int steady_rounds, steady_failed;

static CUresult open_worker(struct worker *worker) {
  CUresult result = cuStreamCreate(&worker->stream, CU_STREAM_NON_BLOCKING);
  result = result != 0 ? result : cuMemAlloc(&worker->values, COUNT * sizeof(unsigned));
  result = result != 0 ? result : cuMemAlloc(&worker->launches, sizeof(unsigned));
  result = result != 0 ? result : cuMemsetD32(worker->values, 0, COUNT);
  result = result != 0 ? result : cuMemsetD32(worker->launches, 0, 1);
  worker->total = 0;
  return result != 0 ? result : cuCtxSynchronize();
}

static CUresult work(struct worker *worker, int rounds) {
  int count = COUNT;
  for (int round = 0; round < rounds; round++) {
    int amount = round % 7 + 1;
    void *parameters[] = {&worker->values, &count, &amount, &worker->launches};
    CUresult result = cuLaunchKernel(
        increment, COUNT / 256, 1, 1, 256, 1, 1, 0, worker->stream, parameters, NULL);
    if (result != 0) {
      return result;
    }
    worker->total += (unsigned)amount;
  }
  unsigned host[COUNT];
  CUresult result = cuMemcpyDtoHAsync(host, worker->values, sizeof host, worker->stream);
  result = result != 0 ? result : cuStreamSynchronize(worker->stream);
  for (int i = 0; result == 0 && i < COUNT; i++) {
    result = host[i] == worker->total ? 0 : -1;
  }
  return result;
}

static void *steady(void *unused) {
  struct worker worker;
  (void)unused;
  CUresult result = cuCtxSetCurrent(context);
  result = result != 0 ? result : open_worker(&worker);
  while (result == 0 && !stopping) {
    result = work(&worker, 5);
    steady_rounds += result == 0;
  }
  steady_failed = result != 0;
  return (void *)(long)result;
}

static void await_round_after(int rounds) {
  while (steady_rounds <= rounds && !steady_failed) {
    usleep(1000);
  }
}

static CUresult fault(CUdeviceptr values) {
  long long distance = 1LL << 40;
  void *parameters[] = {&values, &distance};
  CUresult result = cuLaunchKernel(write_at, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL);
  return result != 0 ? result : cuCtxSynchronize();
}

static CUresult post_spin(struct worker *worker, long long rounds) {
  void *parameters[] = {&rounds, &worker->launches};
  return cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, worker->stream, parameters, NULL);
}

static CUresult allocate(size_t bytes) {
  if (block_count == MAX_BLOCKS) {
    fail("more than %d blocks", MAX_BLOCKS);
  }
  CUresult result = cuMemAlloc(&blocks[block_count], bytes);
  block_count += result == 0;
  return result;
}

static CUresult free_all(void) {
  CUresult result = 0;
  while (block_count > 0 && result == 0) {
    result = cuMemFree(blocks[--block_count]);
  }
  return result;
}

static CUresult info(size_t *total, size_t *free_bytes) { return cuMemGetInfo(free_bytes, total); }

int main(int argc, char **argv) {
  CUmodule module = driver_start(argc > 1 ? argv[1] : "kernels.ptx");
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuModuleGetFunction(&increment, module, "increment"));
  CHECK(cuModuleGetFunction(&write_at, module, "write_at"));
  CHECK(cuModuleGetFunction(&spin, module, "spin"));
  struct worker own;
  CHECK(open_worker(&own));
  setvbuf(stdout, NULL, _IOLBF, 0);
  printf("ready\n");
  pthread_t thread;
  char line[256], command[32];
  while (fgets(line, sizeof line, stdin) != NULL) {
    long long argument = 0;
    size_t total, free_bytes;
    if (sscanf(line, "%31s %lld", command, &argument) < 1) {
      continue;
    }
#define IS(name) (strcmp(command, name) == 0)
    if (IS("pid")) {
      printf("pid %d\n", getpid());
    } else if (IS("info")) {
      CHECK(info(&total, &free_bytes));
      printf("info %zu %zu\n", total, free_bytes);
    } else if (IS("alloc")) {
      printf("alloc %d\n", allocate((size_t)argument));
    } else if (IS("free")) {
      printf("free %d\n", free_all());
    } else if (IS("work")) {
      printf("work %d\n", work(&own, (int)argument));
    } else if (IS("steady")) {
      stopping = 0;
      steady_failed = 0;
      steady_rounds = 0;
      int result = pthread_create(&thread, NULL, steady, NULL);
      await_round_after(result != 0 ? -1 : 0);
      printf("steady %d\n", result);
    } else if (IS("stop")) {
      void *result;
      await_round_after(steady_rounds);
      stopping = 1;
      pthread_join(thread, &result);
      printf("stop %ld %d\n", (long)result, (int)steady_rounds);
    } else if (IS("spin")) {
      printf("spin %d\n", post_spin(&own, argument));
    } else if (IS("fault")) {
      printf("fault %d\n", fault(own.values));
    } else if (IS("sync")) {
      printf("sync %d\n", cuCtxSynchronize());
    } else if (IS("exit")) {
      exit((int)argument);
    } else if (IS("leave")) {
      _exit((int)argument);
    } else if (IS("segv")) {
      int *volatile nowhere = NULL;
      *nowhere = 1;
    } else {
      printf("what? %s", line);
    }
  }
  return 0;
}
