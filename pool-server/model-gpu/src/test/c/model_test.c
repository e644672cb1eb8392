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
CUresult cuDeviceGetAttribute(int *, int, int);
CUresult cuDevicePrimaryCtxRetain(struct context **, int);
CUresult cuCtxSetCurrent(struct context *);
CUresult cuCtxSynchronize(void);
CUresult cuModuleLoadDataEx(struct module **, const void *, unsigned, int *, void **);
CUresult cuModuleGetFunction(struct function **, struct module *, const char *);
CUresult cuFuncSetAttribute(struct function *, int, int);
CUresult cuFuncGetAttribute(int *, int, struct function *);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *, struct function *, int, size_t);
CUresult cuModuleGetGlobal_v2(CUdeviceptr *, size_t *, struct module *, const char *);
CUresult cuLaunchKernel(struct function *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        struct stream *, void **, void **);
CUresult cuEventCreate(struct event **, unsigned);
CUresult cuEventRecord(struct event *, struct stream *);
CUresult cuEventElapsedTime(float *, struct event *, struct event *);
CUresult cuStreamCreateWithPriority(struct stream **, unsigned, int);
CUresult cuStreamQuery(struct stream *);
CUresult cuLaunchHostFunc(struct stream *, void (*)(void *), void *);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemGetInfo_v2(size_t *, size_t *);
CUresult cuCtxSetLimit(int, size_t);
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
                                ".visible .entry assert_false() { ret; }\n"
                                ".visible .entry local_512() { ret; }\n"
                                ".visible .entry local_8192() { ret; }\n"
                                ".visible .entry local_65536() { ret; }\n"
                                ".visible .entry _Z6changePj() { ret; }\n";

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
  return start() && is_near(time_of(200, 1000000, 16, NULL), 200, 20);
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
    if (launch(spin, 300000000, 8, streams[i]) || cuEventRecord(ends[i], streams[i])) return false;
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

static bool query_of_the_legacy_stream_holds_up_no_other(void) {
  struct stream *held, *other;
  if (!start() || cuStreamCreateWithPriority(&held, 0, 0) || cuStreamCreateWithPriority(&other, 0, 0)) return false;
  if (cuLaunchHostFunc(held, wait_for_it, &isOpen)) return false;
  CUresult legacy = cuStreamQuery(NULL);
  if (launch(spin, 1000, 1, other)) return false;
  CUresult result = CUDA_ERROR_NOT_READY;
  for (int i = 0; i < 5000 && result == CUDA_ERROR_NOT_READY; i++) {
    usleep(1000);
    result = cuStreamQuery(other);
  }
  __atomic_store_n(&isOpen, true, __ATOMIC_RELEASE);
  return legacy == CUDA_ERROR_NOT_READY && !result && !cuCtxSynchronize() && !cuStreamQuery(NULL);
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

static bool kernel_acts_on_whole_words_of_its_name(void) {
  struct function *change;
  return start() && !cuModuleGetFunction(&change, module, "_Z6changePj") && !launch(change, 0, 1, NULL) &&
         !cuCtxSynchronize() && name_says("hang", "hang") && name_says("_Z9will_hangPj", "hang") &&
         name_says("_ZN3one4hangEv", "hang") && name_says("_ZL4hangv", "hang") && !name_says("hanging", "hang") &&
         !name_says("_Z7defaultv", "fault") && !name_says("_ZN7default3runEv", "fault");
}

static bool kernel_without_a_time_takes_that_of_the_option(void) {
  char told[160];
  snprintf(told, sizeof told, "%s,kernel=2ms", getenv("GPUPOOL_MODEL"));
  return !setenv("GPUPOOL_MODEL", told, 1) && start() && !cuModuleGetFunction(&spin, module, "_Z6changePj") &&
         is_near(time_of(50, 0, 16, NULL), 100, 10);
}

static const char variables[] = PTX ".global .attribute(.managed) .align 4 .u32 managed = 41;\n"
                                    ".const .align 4 .f32 reals[2] = {0f3F800000, 0fC0000000};\n"
                                    ".visible .global .align 1 .b8 bytes[4] = {1, -1, 0x10};\n"
                                    ".global .align 8 .u64 pointers[2] = {generic(bytes), 7};\n"
                                    ".global .align 4 .b8 empty[1200];\n";

static bool variables_begin_as_the_image_says(void) {
  static const struct {
    const char *name;
    size_t bytes;
    unsigned char first[8];
  } wanted[] = {
      {"managed", 4, {41}},
      {"reals", 8, {0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}},
      {"bytes", 4, {1, 0xff, 0x10}},
      {"pointers", 16, {0}},
      {"empty", 1200, {0}},
  };
  if (!start() || cuModuleLoadDataEx(&module, variables, 0, NULL, NULL)) return false;
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    CUdeviceptr address;
    size_t bytes;
    unsigned char found[8] = {0};
    size_t compared = wanted[i].bytes < sizeof found ? wanted[i].bytes : sizeof found;
    if (cuModuleGetGlobal_v2(&address, &bytes, module, wanted[i].name) || bytes != wanted[i].bytes ||
        cuMemcpyDtoH_v2(found, address, compared) || memcmp(found, wanted[i].first, compared)) {
      printf("%s: %zu bytes, first %x\n", wanted[i].name, bytes, found[0]);
      return false;
    }
  }
  return true;
}

static const char bounded[] =
    PTX ".visible .entry bounded(.param .u64 to)\n.maxntid 16, 8, 1\n{\n.shared .align 4 .b8 tile[32768];\n"
        ".shared .align 8 .u64 one;\n{ ret; }\n}\n.visible .entry free() { ret; }\n";

static bool attribute_of_a_kernel_is_what_the_program_has_set(void) {
  int shared = -1, threads = -1;
  return start() && !cuFuncSetAttribute(spin, 8, 200 << 10) && !cuFuncGetAttribute(&shared, 8, spin) &&
         shared == 200 << 10 && !cuFuncGetAttribute(&threads, 0, spin) && threads == 1024;
}

static bool limits_of_a_kernel_are_those_of_its_text(void) {
  struct function *function;
  int threads, shared, blocks, tooMany;
  if (!start() || cuModuleLoadDataEx(&module, bounded, 0, NULL, NULL) ||
      cuModuleGetFunction(&function, module, "bounded")) {
    return false;
  }
  bool told = !cuFuncGetAttribute(&threads, 0, function) && !cuFuncGetAttribute(&shared, 1, function) &&
              !cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 128, 0) &&
              !cuOccupancyMaxActiveBlocksPerMultiprocessor(&tooMany, function, 129, 0);
  printf("%d threads, %d bytes, %d blocks, %d\n", threads, shared, blocks, tooMany);
  return told && threads == 128 && shared == 32776 && blocks == 6 && tooMany == 0 &&
         !cuModuleGetFunction(&function, module, "free") && !cuFuncGetAttribute(&threads, 0, function) &&
         threads == 1024;
}

static bool small_memory_of_another_process_is_opened(void) {
  struct handle {
    char bytes[64];
  } handle;
  CUresult cuIpcGetMemHandle(void *, CUdeviceptr), cuIpcOpenMemHandle_v2(CUdeviceptr *, struct handle, unsigned),
      cuIpcCloseMemHandle(CUdeviceptr);
  int ends[2];
  if (pipe(ends)) return false;
  pid_t child = fork();
  if (!child) {
    CUdeviceptr first, second;
    bool good = start() && !cuMemAlloc_v2(&first, 100) && !cuMemAlloc_v2(&second, 4) &&
                !cuMemcpyHtoD_v2(second, "shared", 4) && !cuIpcGetMemHandle(&handle, second);
    if (!good || write(ends[1], &handle, sizeof handle) != sizeof handle) _exit(1);
    while (1) pause();
  }
  CUdeviceptr opened;
  char text[4] = "";
  bool good = read(ends[0], &handle, sizeof handle) == sizeof handle && start() &&
              !cuIpcOpenMemHandle_v2(&opened, handle, 1) && !cuMemcpyDtoH_v2(text, opened, sizeof text) &&
              !memcmp(text, "shar", sizeof text) && cuMemcpyDtoH_v2(text, opened + 4, 1) &&
              !cuIpcCloseMemHandle(opened) && cuMemcpyDtoH_v2(text, opened, 1);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  return good;
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

static size_t taken(void) {
  size_t left = 0, total = 0;
  return cuMemGetInfo_v2(&left, &total) ? 0 : total - left;
}

static bool heaps_and_local_memory_take_memory_of_the_card(void) {
  struct function *small, *large, *huge;
  if (!start() || cuModuleGetFunction(&small, module, "local_512") ||
      cuModuleGetFunction(&large, module, "local_8192") || cuModuleGetFunction(&huge, module, "local_65536")) {
    return false;
  }
  size_t before = taken(), local = (size_t)(8192 - 1024) * 2048 * 16;
  enum { MALLOC_HEAP = 2 };
  bool heap = !cuCtxSetLimit(MALLOC_HEAP, 72 * MEBIBYTES) && taken() == before + 64 * MEBIBYTES &&
              !cuCtxSetLimit(MALLOC_HEAP, 8 * MEBIBYTES) && taken() == before;
  bool usual = !launch(small, 0, 1, NULL) && taken() == before;
  bool more = !launch(large, 0, 1, NULL) && taken() == before + local;
  return heap && usual && more && launch(huge, 0, 1, NULL) == CUDA_ERROR_OUT_OF_MEMORY && taken() == before + local &&
         cuCtxSetLimit(MALLOC_HEAP, 4096 * MEBIBYTES) == CUDA_ERROR_OUT_OF_MEMORY && taken() == before + local;
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

static bool mps_clients_run_beside_each_other_on_their_part(void) {
  int ends[2], multiprocessors;
  char both[2];
  pid_t children[2];
  if (pipe(ends) || setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "25", 1)) return false;
  // Enough under way that it does not matter how soon a process is back.
  for (int i = 0; i < 2; i++) children[i] = start_worker(1000, ends[1]);
  if (read(ends[0], both, 1) != 1 || read(ends[0], both + 1, 1) != 1) return false;
  bool isPart = !cuInit(0) && !cuDeviceGetAttribute(&multiprocessors, 16, 0) && multiprocessors == 4;
  struct card *card = card_look(0);
  uint64_t from[2], to[2];
  usleep(200000);
  uint64_t since = card_now();
  for (int i = 0; i < 2; i++) from[i] = busy(card, children[i]);
  usleep(1000000);
  for (int i = 0; i < 2; i++) to[i] = busy(card, children[i]);
  double passed = (double)(card_now() - since);
  for (int i = 0; i < 2; i++) end(children[i]);
  return isPart && (double)(to[0] - from[0] + to[1] - from[1]) > 1.2 * passed;
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
         options_read("gpus=17") && options_read("kernel=0") && options_read("colour=red") && options_read("name=../x") && options_read("name=a/b");
}

#define CASE(name) {#name, name}

static const struct {
  const char *name;
  bool (*run)(void);
} cases[] = {
    CASE(kernels_of_a_stream_run_one_after_the_other),
    CASE(small_kernels_of_two_streams_run_beside_each_other),
    CASE(full_queue_holds_the_launch_until_a_place_is_free),
    CASE(query_of_the_legacy_stream_holds_up_no_other),
    CASE(fault_stays),
    CASE(assertion_is_told_on_standard_error),
    CASE(kernel_acts_on_whole_words_of_its_name),
    CASE(kernel_without_a_time_takes_that_of_the_option),
    CASE(variables_begin_as_the_image_says),
    CASE(attribute_of_a_kernel_is_what_the_program_has_set),
    CASE(limits_of_a_kernel_are_those_of_its_text),
    CASE(small_memory_of_another_process_is_opened),
    CASE(memory_is_taken_in_blocks_and_by_contexts),
    CASE(heaps_and_local_memory_take_memory_of_the_card),
    CASE(copies_are_real),
    CASE(texts_linked_with_each_other_have_the_kernels_of_both),
    CASE(file_is_there_for_workers_of_other_users),
    CASE(two_processes_have_equal_time),
    CASE(mps_clients_run_beside_each_other_on_their_part),
    CASE(killed_process_gives_back_all_that_it_had),
    CASE(options_that_are_wrong_are_refused),
};

int main(void) {
  char told[128];
  int failures = 0;
  snprintf(told, sizeof told, "mem=1Gi,code=0,sm=16,name=test-%d", getpid());
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
