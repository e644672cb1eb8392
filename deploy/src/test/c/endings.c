// SPDX-License-Identifier: Apache-2.0
// Ends, or starts other programs, in every way that programs do: endings WAY KERNELS.PTX
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../examples/driver-api/driver.h"

enum { COUNT = 1 << 14, NOT_INITIALIZED = 3, COPY_BYTES = 32 << 20 };

extern char **environ;

static const char *self, *kernels;
static CUcontext context;
static CUfunction increment, spin;
static CUdeviceptr values, launches;

static void open_device(void) {
  CUmodule module = driver_start(kernels);
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuModuleGetFunction(&increment, module, "increment"));
  CHECK(cuModuleGetFunction(&spin, module, "spin"));
  CHECK(cuMemAlloc(&values, COUNT * sizeof(unsigned)));
  CHECK(cuMemAlloc(&launches, sizeof(unsigned)));
  CHECK(cuMemsetD32(values, 0, COUNT));
}

static CUresult launch(void) {
  int count = COUNT, amount = 1;
  void *parameters[] = {&values, &count, &amount, &launches};
  return cuLaunchKernel(increment, COUNT / 256, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL);
}

static CUresult post_spin(long long rounds) {
  void *parameters[] = {&rounds, &launches};
  return cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL);
}

// Adds to all values, on the device, and checks them.
static void compute(unsigned rounds) {
  unsigned *host = malloc(COUNT * sizeof *host);
  CHECK(cuMemcpyDtoH(host, values, COUNT * sizeof *host));
  unsigned before = host[0];
  for (unsigned i = 0; i < rounds; i++) CHECK(launch());
  CHECK(cuMemcpyDtoH(host, values, COUNT * sizeof *host));
  for (int i = 0; i < COUNT; i++) {
    if (host[i] != before + rounds) fail("value %d is %u", i, host[i]);
  }
  free(host);
}

static int say(const char *line) {
  printf("%s\n", line);
  fflush(stdout);
  return 0;
}

static void await_child(pid_t child, int wanted) {
  int status;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != wanted) {
    fail("child %d ended with %x", child, status);
  }
}

static int plain(void) {
  open_device();
  compute(3);
  return say("done");
}

static int fork_first(void) {
  pid_t child = fork();
  open_device();
  compute(3);
  if (child == 0) _exit(0);
  await_child(child, 0);
  return say("done");
}

// A forked child has nothing of its parent's session, and begins one of its own.
static int fork_late(void) {
  open_device();
  compute(3);
  pid_t child = fork();
  if (child == 0) {
    CUdeviceptr stale;
    CUresult result = cuMemAlloc(&stale, 64);
    if (result != NOT_INITIALIZED) fail("before cuInit a child gets %d", result);
    open_device();
    compute(5);
    exit(0);
  }
  compute(4);
  await_child(child, 0);
  compute(2);
  return say("done");
}

static int exec_self(void) {
  open_device();
  compute(3);
  execl(self, self, "plain", kernels, (char *)NULL);
  fail("exec: %m");
}

static int spawn(void) {
  open_device();
  char *arguments[] = {(char *)self, "plain", (char *)kernels, NULL};
  pid_t child;
  if (posix_spawn(&child, self, NULL, NULL, arguments, environ) != 0) fail("posix_spawn");
  compute(3);
  await_child(child, 0);
  child = vfork();
  if (child == 0) {
    execv(self, arguments);
    _exit(127);
  }
  await_child(child, 0);
  compute(3);
  return say("done");
}

static atomic_int started;

static void *launch_for_ever(void *unused) {
  CUresult result = cuCtxSetCurrent(context);
  started++;
  // As with a local driver, calls fail or never return once the process is exiting.
  while (result == 0) {
    result = launch();
    result = result != 0 ? result : cuCtxSynchronize();
  }
  return unused;
}

static void start_threads(int count) {
  for (int i = 0; i < count; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, launch_for_ever, NULL) != 0) fail("no thread");
  }
  while (started < count) usleep(1000);
}

static int threads(void) {
  open_device();
  start_threads(4);
  usleep(50000);
  return say("done");
}

static void free_late(void) {
  unsigned word = 1;
  CHECK(cuMemcpyDtoH(&word, values, sizeof word));
  CHECK(launch());
  CHECK(cuCtxSynchronize());
  CHECK(cuMemFree(values));
  CHECK(cuDevicePrimaryCtxRelease(0));
  printf("freed late, value %u\n", word);
}

static int exit_handlers(void) {
  atexit(free_late);
  open_device();
  compute(3);
  return 0;
}

static int destructor_wanted;

__attribute__((destructor)) static void at_unload(void) {
  if (destructor_wanted) free_late();
}

static int destructors(void) {
  destructor_wanted = 1;
  return plain();
}

static void *use_library(void *unused) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fail("%s", dlerror());
  CUresult (*set_current)(CUcontext);
  CUresult (*memory)(size_t *, size_t *);
  *(void **)&set_current = dlsym(library, "cuCtxSetCurrent");
  *(void **)&memory = dlsym(library, "cuMemGetInfo_v2");
  size_t free_bytes, total;
  CHECK(set_current(context));
  CHECK(memory(&free_bytes, &total));
  if (dlclose(library) != 0) fail("%s", dlerror());
  return unused;
}

static long resident_kib(void) {
  char *status = read_text("/proc/self/status");
  char *line = strstr(status, "VmRSS:");
  long kib = line == NULL ? 0 : atol(line + 6);
  free(status);
  return kib;
}

static int unload(void) {
  open_device();
  for (int i = 0; i < 50; i++) use_library(NULL);
  long before = resident_kib();
  for (int i = 0; i < 300; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, use_library, NULL) != 0) fail("no thread");
    pthread_join(thread, NULL);
    use_library(NULL);
  }
  if (resident_kib() - before > 2048) fail("%ld KiB more", resident_kib() - before);
  compute(3);
  // No handle of the library is left; its threads must end all the same.
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  dlclose(library);
  dlclose(library);
  return say("done");
}

static int launching(void) {
  open_device();
  start_threads(2);
  say("ready");
  while (launch() == 0) {
  }
  return 1;
}

static int copying(void) {
  CUdeviceptr target;
  open_device();
  void *host = calloc(1, COPY_BYTES);
  CHECK(cuMemAlloc(&target, COPY_BYTES));
  say("ready");
  while (cuMemcpyHtoD(target, host, COPY_BYTES) == 0 &&
         cuMemcpyDtoH(host, target, COPY_BYTES) == 0) {
  }
  return 1;
}

static int spinning(void) {
  open_device();
  CHECK(post_spin(1LL << 40));
  say("ready");
  CHECK(cuCtxSynchronize());
  return 0;
}

static int steady(void) {
  open_device();
  for (int round = 0; round < 1 << 20; round++) {
    compute(2);
    printf("round %d\n", round);
    fflush(stdout);
    usleep(2000);
  }
  return 1;
}

static int aborts(void) {
  open_device();
  CHECK(post_spin(1LL << 40));
  abort();
}

// Children of a process that has a context, like those of a data loader.
static int workers(void) {
  pid_t children[4];
  open_device();
  for (int i = 0; i < 4; i++) {
    children[i] = fork();
    if (children[i] == 0) exit(i);
  }
  compute(3);
  for (int i = 0; i < 4; i++) await_child(children[i], i);
  return say("done");
}

static int memory_of(size_t bytes) {
  CUdeviceptr block;
  size_t free_bytes, total;
  open_device();
  CUresult result = cuMemAlloc(&block, bytes);
  CHECK(cuMemGetInfo(&free_bytes, &total));
  printf("memory %d %zu %zu\n", result, free_bytes, total);
  fflush(stdout);
  while (getchar() != EOF) {
    CHECK(cuMemGetInfo(&free_bytes, &total));
    printf("memory %d %zu %zu\n", result, free_bytes, total);
    fflush(stdout);
  }
  return 0;
}

struct handle {
  unsigned char bytes[64];
};

static void *function(const char *name) {
  void *found = dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
  if (found == NULL) fail("%s", dlerror());
  return found;
}

// Shares memory with other processes: "free" frees it, any other line asks for its size.
static int lend(void) {
  CUresult (*get)(struct handle *, CUdeviceptr) =
      (CUresult(*)(struct handle *, CUdeviceptr))function("cuIpcGetMemHandle");
  CUdeviceptr block;
  struct handle handle;
  char line[64];
  size_t free_bytes, total;
  open_device();
  CHECK(cuMemAlloc(&block, COPY_BYTES));
  CHECK(cuMemsetD32(block, 42, COPY_BYTES / 4));
  CHECK(get(&handle, block));
  printf("handle ");
  for (size_t i = 0; i < sizeof handle; i++) printf("%02x", handle.bytes[i]);
  say("");
  while (fgets(line, sizeof line, stdin) != NULL) {
    CUresult result = strncmp(line, "free", 4) == 0 ? cuMemFree(block) : 0;
    CHECK(cuMemGetInfo(&free_bytes, &total));
    printf("lent %d %zu\n", result, free_bytes);
    fflush(stdout);
  }
  return 0;
}

// Opens the memory that another process shares: each line on standard input asks for its first and last words.
static int borrow(const char *text) {
  CUresult (*open)(CUdeviceptr *, struct handle, unsigned) =
      (CUresult(*)(CUdeviceptr *, struct handle, unsigned))function("cuIpcOpenMemHandle_v2");
  CUdeviceptr block;
  struct handle handle;
  unsigned word, words[2];
  open_device();
  for (size_t i = 0; i < sizeof handle; i++) {
    if (sscanf(text + 2 * i, "%2x", &word) != 1) fail("no handle");
    handle.bytes[i] = (unsigned char)word;
  }
  CUresult result = open(&block, handle, 1);
  printf("borrowed %d\n", result);
  fflush(stdout);
  while (result == 0 && getchar() != EOF) {
    CUresult first = cuMemcpyDtoH(&words[0], block, 4);
    CUresult last = cuMemcpyDtoH(&words[1], block + COPY_BYTES - 4, 4);
    printf("words %d %u %u\n", first != 0 ? first : last, words[0], words[1]);
    fflush(stdout);
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 3) fail("endings WAY KERNELS.PTX [BYTES]");
  self = argv[0];
  kernels = argv[2];
#define WAY(name, body) \
  if (strcmp(argv[1], name) == 0) return body;
  WAY("plain", plain())
  WAY("fork-first", fork_first())
  WAY("fork-late", fork_late())
  WAY("exec", exec_self())
  WAY("spawn", spawn())
  WAY("threads", threads())
  WAY("exit-handlers", exit_handlers())
  WAY("destructors", destructors())
  WAY("unload", unload())
  WAY("launching", launching())
  WAY("copying", copying())
  WAY("spinning", spinning())
  WAY("steady", steady())
  WAY("abort", aborts())
  WAY("workers", workers())
  WAY("memory", memory_of(argc > 3 ? strtoull(argv[3], NULL, 10) : 1 << 20))
  WAY("lend", lend())
  WAY("borrow", borrow(argc > 3 ? argv[3] : ""))
  fail("there is no way %s", argv[1]);
}
