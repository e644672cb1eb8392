// SPDX-License-Identifier: Apache-2.0
// The modelled card as programs and processes see it: by its own events and counters, not by this machine's clock.
#include "module.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct event;
CUresult cuInit(unsigned);
CUresult cuDevicePrimaryCtxRetain(struct context **, int);
CUresult cuCtxSetCurrent(struct context *);
CUresult cuCtxSynchronize(void);
CUresult cuModuleLoadDataEx(struct module **, const void *, unsigned, int *, void **);
CUresult cuModuleGetFunction(struct function **, struct module *, const char *);
CUresult cuLaunchKernel(struct function *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        struct stream *, void **, void **);
CUresult cuEventCreate(struct event **, unsigned);
CUresult cuEventRecord(struct event *, struct stream *);
CUresult cuEventElapsedTime(float *, struct event *, struct event *);
CUresult cuStreamCreateWithPriority(struct stream **, unsigned, int);
CUresult cuLaunchHostFunc(struct stream *, void (*)(void *), void *);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemGetInfo_v2(size_t *, size_t *);
CUresult cuMemcpyHtoD_v2(CUdeviceptr, const void *, size_t);
CUresult cuMemcpyDtoH_v2(void *, CUdeviceptr, size_t);

struct link;
CUresult cuLinkCreate_v2(unsigned, int *, void **, struct link **);
CUresult cuLinkAddData_v2(struct link *, int, const void *, size_t, const char *, unsigned, int *, void **);
CUresult cuLinkComplete(struct link *, void **, size_t *);
CUresult cuLinkDestroy(struct link *);

#define PTX ".version 8.0\n.target sm_90\n.address_size 64\n"

static const char image[] = PTX ".visible .entry spin_ns(.param .u64 nanos) { ret; }\n"
                                ".visible .entry fault() { ret; }\n"
                                ".visible .entry assert_false() { ret; }\n";

#define MEBIBYTES ((size_t)1 << 20)

static char file[160];
static struct function *spin;
static struct module *module;

static bool start(void) {
  struct context *context;
  return !cuInit(0) && !cuDevicePrimaryCtxRetain(&context, 0) && !cuCtxSetCurrent(context) &&
         !cuModuleLoadDataEx(&module, image, 0, NULL, NULL) && !cuModuleGetFunction(&spin, module, "spin_ns");
}

static CUresult launch(struct function *function, uint64_t nanos, unsigned blocks, struct stream *stream) {
  size_t bytes = sizeof nanos;
  void *extra[] = {(void *)1, &nanos, (void *)2, &bytes, NULL};
  return cuLaunchKernel(function, blocks, 1, 1, 128, 1, 1, 0, stream, NULL, extra);
}

static bool is_near(double value, double wanted, double tolerance) {
  if (value >= wanted - tolerance && value <= wanted + tolerance) return true;
  printf("%f is not within %f of %f\n", value, tolerance, wanted);
  return false;
}

/** Milliseconds that so many kernels take by the model's events, over two streams if `other` is one. */
static float time_of(unsigned kernels, uint64_t nanos, unsigned blocks, struct stream *other) {
  struct event *begin, *end;
  float milliseconds = -1;
  if (cuEventCreate(&begin, 0) || cuEventCreate(&end, 0) || cuEventRecord(begin, NULL)) return -1;
  for (unsigned i = 0; i < kernels; i++) {
    if (launch(spin, nanos, blocks, other && i % 2 ? other : NULL)) return -1;
  }
  if (cuEventRecord(end, NULL) || cuCtxSynchronize() || cuEventElapsedTime(&milliseconds, begin, end)) return -1;
  return milliseconds;
}

static bool kernels_of_a_stream_run_one_after_the_other(void) {
  // The first launch waits for none; what the program takes between launches is less than the kernels'.
  return start() && is_near(time_of(200, 1000000, 132, NULL), 200, 20);
}

static bool small_kernels_of_two_streams_run_beside_each_other(void) {
  struct stream *streams[2];
  struct event *begin, *ends[2];
  float spent[2];
  if (!start() || cuEventCreate(&begin, 0)) return false;
  for (int i = 0; i < 2; i++) {
    if (cuStreamCreateWithPriority(&streams[i], 1, 0) || cuEventCreate(&ends[i], 0)) return false;
  }
  if (cuEventRecord(begin, streams[0])) return false;
  for (int i = 0; i < 2; i++) {
    if (launch(spin, 300000000, 60, streams[i]) || cuEventRecord(ends[i], streams[i])) return false;
  }
  if (cuCtxSynchronize()) return false;
  for (int i = 0; i < 2; i++) {
    if (cuEventElapsedTime(&spent[i], begin, ends[i])) return false;
  }
  return is_near(spent[0], 300, 100) && is_near(spent[1], 300, 200);
}

static bool isOpen;

static void wait_for_it(void *flag) {
  while (!__atomic_load_n((bool *)flag, __ATOMIC_ACQUIRE)) usleep(1000);
}

static unsigned launched;

static void *launch_many(void *context) {
  cuCtxSetCurrent(context);
  for (int i = 0; i < 40 && !launch(spin, 1000, 132, NULL); i++) __atomic_add_fetch(&launched, 1, __ATOMIC_SEQ_CST);
  return NULL;
}

static bool full_queue_holds_the_launch_until_a_place_is_free(void) {
  struct context *context;
  pthread_t thread;
  if (!start() || cuDevicePrimaryCtxRetain(&context, 0)) return false;
  options.queue = 16;
  if (cuLaunchHostFunc(NULL, wait_for_it, &isOpen)) return false;
  if (pthread_create(&thread, NULL, launch_many, context)) return false;
  for (int i = 0; i < 5000 && __atomic_load_n(&launched, __ATOMIC_SEQ_CST) < 15; i++) usleep(1000);
  usleep(50000);
  bool held = __atomic_load_n(&launched, __ATOMIC_SEQ_CST) == 15;  // the host function has the 16th place
  __atomic_store_n(&isOpen, true, __ATOMIC_RELEASE);
  pthread_join(thread, NULL);
  if (!held || launched != 40) printf("held %d, launched %u\n", held, launched);
  return held && launched == 40 && !cuCtxSynchronize();
}

static bool fault_stays(void) {
  struct function *fault;
  CUdeviceptr address;
  return start() && !cuModuleGetFunction(&fault, module, "fault") && !launch(fault, 0, 1, NULL) &&
         cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS && cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS &&
         launch(spin, 1, 1, NULL) == CUDA_ERROR_ILLEGAL_ADDRESS &&
         cuMemAlloc_v2(&address, 1) == CUDA_ERROR_ILLEGAL_ADDRESS;
}

static bool assertion_is_told_on_standard_error(void) {
  struct function *function;
  int ends[2];
  char text[200] = "";
  if (!start() || pipe(ends) || cuModuleGetFunction(&function, module, "assert_false")) return false;
  int before = dup(2);
  dup2(ends[1], 2);
  CUresult result = launch(function, 0, 1, NULL);
  if (!result) result = cuCtxSynchronize();
  dup2(before, 2);
  close(ends[1]);
  ssize_t bytes = read(ends[0], text, sizeof text - 1);
  return result == CUDA_ERROR_ASSERT && bytes > 0 && strstr(text, "assert_false") && strstr(text, "Assertion");
}

static bool memory_is_taken_in_blocks_and_by_contexts(void) {
  size_t before, after, total;
  CUdeviceptr small, odd;
  if (!start() || cuMemGetInfo_v2(&before, &total)) return false;
  if (total != 1024 * MEBIBYTES || before != total - 400 * MEBIBYTES) return false;
  if (cuMemAlloc_v2(&small, 5) || cuMemAlloc_v2(&odd, 3 * MEBIBYTES + 1) || cuMemGetInfo_v2(&after, &total)) return false;
  if (before - after != 6 * MEBIBYTES) return false;
  CUresult full = cuMemAlloc_v2(&small, after + 1);
  return full == CUDA_ERROR_OUT_OF_MEMORY && !cuMemFree_v2(odd) && !cuMemGetInfo_v2(&after, &total) &&
         before - after == 2 * MEBIBYTES;
}

static bool copies_are_real(void) {
  static char in[5 << 20], out[5 << 20];
  CUdeviceptr address;
  for (size_t i = 0; i < sizeof in; i++) in[i] = (char)(i * 7 + i / 4096);
  return start() && !cuMemAlloc_v2(&address, sizeof in) && !cuMemcpyHtoD_v2(address, in, sizeof in) &&
         !cuMemcpyDtoH_v2(out, address, sizeof out) && !memcmp(in, out, sizeof in);
}

static bool texts_linked_with_each_other_have_the_kernels_of_both(void) {
  static const char one[] = PTX ".visible .entry first() { ret; }", two[] = PTX ".visible .entry second() { ret; }";
  struct link *link;
  struct function *function;
  void *linked;
  size_t bytes;
  return start() && !cuLinkCreate_v2(0, NULL, NULL, &link) &&
         !cuLinkAddData_v2(link, 1, one, sizeof one, "", 0, NULL, NULL) &&
         !cuLinkAddData_v2(link, 1, two, sizeof two, "", 0, NULL, NULL) &&
         cuLinkAddData_v2(link, 0, two, sizeof two, "", 0, NULL, NULL) == CUDA_ERROR_NOT_SUPPORTED &&
         !cuLinkComplete(link, &linked, &bytes) && !cuModuleLoadDataEx(&module, linked, 0, NULL, NULL) &&
         !cuModuleGetFunction(&function, module, "first") && !cuModuleGetFunction(&function, module, "second") &&
         !cuLinkDestroy(link);
}

static bool file_is_there_for_workers_of_other_users(void) {
  struct stat facts;
  return start() && !stat(file, &facts) && (facts.st_mode & 07777) == 0666;
}

// Several processes

/** A process that tells by a byte that it is there, works for so long, and waits for its end. */
static pid_t start_worker(unsigned kernels, int ready) {
  pid_t child = fork();
  if (child) return child;
  CUdeviceptr address;
  if (!start() || cuMemAlloc_v2(&address, 100 * MEBIBYTES) || write(ready, "r", 1) != 1) _exit(1);
  while (1) {
    for (unsigned i = 0; i < kernels; i++) {
      if (launch(spin, 500000, 132, NULL)) _exit(1);
    }
    if (kernels ? cuCtxSynchronize() : (CUresult)pause()) _exit(1);
  }
}

static uint64_t busy(struct card *card, pid_t pid) {
  struct card_usage usage[MAX_PROCESSES];
  uint32_t count = card_usage(card, usage);
  for (uint32_t i = 0; i < count; i++) {
    if (usage[i].pid == pid) return usage[i].computeNanos;
  }
  return 0;
}

static void end(pid_t child) {
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
}

static bool two_processes_have_equal_time(void) {
  int ends[2];
  char both[2];
  pid_t children[2];
  if (pipe(ends)) return false;
  // One with few kernels under way, one with many.
  children[0] = start_worker(8, ends[1]);
  children[1] = start_worker(100, ends[1]);
  if (read(ends[0], both, 1) != 1 || read(ends[0], both + 1, 1) != 1) return false;
  options_read(getenv("GPUPOOL_MODEL"));
  struct card *card = card_look(0);
  uint64_t from[2], to[2];
  usleep(200000);
  for (int i = 0; i < 2; i++) from[i] = busy(card, children[i]);
  usleep(1500000);
  for (int i = 0; i < 2; i++) to[i] = busy(card, children[i]);
  for (int i = 0; i < 2; i++) end(children[i]);
  double first = (double)(to[0] - from[0]), second = (double)(to[1] - from[1]);
  return first > 0 && is_near(100 * first / (first + second), 50, 15);
}

static bool killed_process_gives_back_all_that_it_had(void) {
  int ends[2];
  char byte;
  size_t during, after, total;
  if (pipe(ends)) return false;
  pid_t child = start_worker(0, ends[1]);
  if (read(ends[0], &byte, 1) != 1 || !start() || cuMemGetInfo_v2(&during, &total)) return false;
  end(child);
  // Two contexts and the child's memory, then one context.
  return during == total - 900 * MEBIBYTES && !cuMemGetInfo_v2(&after, &total) && after == total - 400 * MEBIBYTES;
}

static bool options_that_are_wrong_are_refused(void) {
  return options_read("mem=8Gi,gpus=2") == NULL && options_read("mem=much") && options_read("gpus=0") &&
         options_read("gpus=17") && options_read("colour=red") && options_read("name=../x") && options_read("name=a/b");
}

#define CASE(name) {#name, name}

static const struct {
  const char *name;
  bool (*run)(void);
} cases[] = {
    CASE(kernels_of_a_stream_run_one_after_the_other),
    CASE(small_kernels_of_two_streams_run_beside_each_other),
    CASE(full_queue_holds_the_launch_until_a_place_is_free),
    CASE(fault_stays),
    CASE(assertion_is_told_on_standard_error),
    CASE(memory_is_taken_in_blocks_and_by_contexts),
    CASE(copies_are_real),
    CASE(texts_linked_with_each_other_have_the_kernels_of_both),
    CASE(file_is_there_for_workers_of_other_users),
    CASE(two_processes_have_equal_time),
    CASE(killed_process_gives_back_all_that_it_had),
    CASE(options_that_are_wrong_are_refused),
};

int main(void) {
  char told[128];
  int failures = 0;
  snprintf(told, sizeof told, "mem=1Gi,code=0,name=test-%d", getpid());
  setenv("GPUPOOL_MODEL", told, 1);
  snprintf(file, sizeof file, "/dev/shm/gpupool-model-test-%d-0", getpid());
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
      bool good = cases[i].run();
      fflush(stdout);
      _exit(good ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    unlink(file);
    printf("%s %s\n", status ? "not ok" : "ok", cases[i].name);
    failures += status != 0;
  }
  return failures != 0;
}
