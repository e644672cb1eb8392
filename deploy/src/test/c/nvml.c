// SPDX-License-Identifier: Apache-2.0
// A tool that reads its GPUs through NVML: it answers each line of standard input, which is a command, with a line.
//
//   pid          pid N
//   init         init RESULT DRIVER CUDA COUNT
//   gpu N        gpu RESULT UUID PCI TOTAL USED UTILIZATION NAME
//   sensors N    sensors CELSIUS MILLIWATTS LIMIT FAN CLOCK UNCORRECTED  (in place of one that is not answered: the error, negative)
//   listen N     listen RESULT              (faults of that GPU from now on)
//   event MILLIS event RESULT TYPE DATA     (the next fault)
//   own N        own RESULT BYTES           (of this process on that GPU; -1: it is not in the list)
//   fabric N     fabric RESULT STATE OLD    (OLD: the result for a version that there never was)
//   walk         walk CALLS ANSWERED        (every entry point, without arguments and with a device)
//   cuda BYTES   cuda RESULT                (allocates memory of the first device, as a program would)
//   spin ROUNDS  spin RESULT                (keeps the GPU at work)
//   child        child RESULT TOTAL         (asks in a process that was forked)
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../../client-agent/shim/src/main/nvml/nvml.h"
#include "../../../examples/driver-api/driver.h"

enum { BUFFER_BYTES = 1 << 16, MOST_PROCESSES = 64 };

typedef nvmlReturn_t call(void *, void *, void *, void *, void *, void *);

static const char *const names[] = {
#define TOPIC(name)
#define ANSWERED(name, note) #name,
#define UNSUPPORTED(name, first, reason) #name,
#define REFUSED(name, first) #name,
#include "../../../../client-agent/shim/src/main/nvml/functions.inc"
};

static void *library;

static void *look_up(const char *name) {
  void *found = dlsym(library, name);
  if (!found) fail("%s", dlerror());
  return found;
}

#define NVML(name, ...) (((nvmlReturn_t(*)())(void (*)(void))(uintptr_t)look_up(#name))(__VA_ARGS__))

static void init(void) {
  char driver[80] = "-";
  int cuda = 0;
  unsigned count = 0;
  nvmlReturn_t result = NVML(nvmlInit_v2);
  if (!result) result = NVML(nvmlSystemGetDriverVersion, driver, 80u);
  if (!result) result = NVML(nvmlSystemGetCudaDriverVersion_v2, &cuda);
  if (!result) result = NVML(nvmlDeviceGetCount_v2, &count);
  printf("init %d %s %d %u\n", result, driver, cuda, count);
}

static nvmlDevice_t device(unsigned index) {
  nvmlDevice_t found = NULL;
  NVML(nvmlDeviceGetHandleByIndex_v2, index, &found);
  return found;
}

static void gpu(unsigned index) {
  nvmlDevice_t asked = device(index);
  char uuid[96] = "-", name[96] = "-";
  nvmlPciInfo_t pci = {0};
  nvmlMemory_t memory = {0};
  nvmlUtilization_t rates = {0};
  nvmlReturn_t result = NVML(nvmlDeviceGetUUID, asked, uuid, 96u);
  if (!result) result = NVML(nvmlDeviceGetName, asked, name, 96u);
  if (!result) result = NVML(nvmlDeviceGetPciInfo_v3, asked, &pci);
  if (!result) result = NVML(nvmlDeviceGetMemoryInfo, asked, &memory);
  if (!result) result = NVML(nvmlDeviceGetUtilizationRates, asked, &rates);
  printf("gpu %d %s %s %llu %llu %u %s\n", result, uuid, pci.busId, memory.total, memory.used,
         rates.gpu, name);
}

/** A number that a function of the device stores, or minus the error. */
#define MEASURED(name, ...) (result = NVML(name, asked, __VA_ARGS__), result ? -(long long)result : (long long)number)

static void sensors(unsigned index) {
  nvmlDevice_t asked = device(index);
  nvmlReturn_t result;
  unsigned long long number = 0;
  long long celsius = MEASURED(nvmlDeviceGetTemperature, 0u, &number);
  long long milliwatts = MEASURED(nvmlDeviceGetPowerUsage, &number);
  long long limit = MEASURED(nvmlDeviceGetEnforcedPowerLimit, &number);
  long long fan = MEASURED(nvmlDeviceGetFanSpeed, &number);
  long long clock = MEASURED(nvmlDeviceGetClockInfo, 1u, &number);
  long long uncorrected = MEASURED(nvmlDeviceGetTotalEccErrors, 1u, 0u, &number);
  printf("sensors %lld %lld %lld %lld %lld %lld\n", celsius, milliwatts, limit, fan, clock, uncorrected);
}

static nvmlEventSet_t set;

static nvmlReturn_t listen_to(unsigned index) {
  nvmlReturn_t result = NVML(nvmlEventSetCreate, &set);
  return result ? result : NVML(nvmlDeviceRegisterEvents, device(index), 10ULL, set);
}

static void event(unsigned millis) {
  nvmlEventData_t data = {0};
  nvmlReturn_t result = NVML(nvmlEventSetWait_v2, set, &data, millis);
  printf("event %d %llu %llu\n", result, data.type, data.data);
}

static void own(unsigned index) {
  nvmlProcessInfo_v2_t processes[MOST_PROCESSES];
  unsigned count = MOST_PROCESSES;
  nvmlReturn_t result = NVML(nvmlDeviceGetComputeRunningProcesses_v3, device(index), &count, processes);
  long long bytes = -1;
  for (unsigned i = 0; !result && i < count; i++) {
    if (processes[i].pid == (unsigned)getpid()) bytes = (long long)processes[i].usedGpuMemory;
  }
  printf("own %d %lld\n", result, bytes);
}

static void fabric(unsigned index) {
  nvmlGpuFabricInfo_v3_t info = {.version = NVML_VERSION(nvmlGpuFabricInfo_v3_t, 3), .state = 99};
  nvmlGpuFabricInfo_v3_t never = {.version = NVML_VERSION(nvmlGpuFabricInfo_v3_t, 2)};
  nvmlReturn_t result = NVML(nvmlDeviceGetGpuFabricInfoV, device(index), &info);
  printf("fabric %d %d %d\n", result, info.state, NVML(nvmlDeviceGetGpuFabricInfoV, device(index), &never));
}

/** Returns whether the second argument is a number of things that the third has room for, or a time. */
static bool counts(const char *name) {
  return strstr(name, "GetFieldValues") || strstr(name, "GetCpuAffinity");
}

static void walk(void) {
  static char buffer[BUFFER_BYTES];
  int calls = 0, answered = 0;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *name = names[i];
    if (strcmp(name, "nvmlShutdown") == 0 || strcmp(name, "nvmlErrorString") == 0) continue;
    call *function;
    *(void **)&function = look_up(name);
    function(NULL, NULL, NULL, NULL, NULL, NULL);
    memset(buffer, 0, sizeof buffer);
    void *second = counts(name) ? (void *)1 : buffer;
    answered += function(device(0), second, buffer, buffer, buffer, buffer) == NVML_SUCCESS;
    calls += 2;
  }
  printf("walk %d %d\n", calls, answered);
}

static CUfunction spinning;

static CUresult cuda(const char *kernels, size_t bytes) {
  CUdeviceptr block;
  spinning = NULL;
  CUmodule module = driver_start(kernels);
  CUresult result = cuModuleGetFunction(&spinning, module, "spin");
  return result ? result : cuMemAlloc(&block, bytes);
}

static CUresult spin(long long rounds) {
  CUdeviceptr cell;
  CUresult result = cuMemAlloc(&cell, sizeof(unsigned));
  void *parameters[] = {&rounds, &cell};
  if (!result) result = cuLaunchKernel(spinning, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL);
  return result ? result : cuCtxSynchronize();
}

static void child(void) {
  int pipes[2];
  nvmlMemory_t memory = {0};
  int status = -1;
  if (pipe(pipes)) return;
  pid_t forked = fork();
  if (forked == 0) {
    // The parent's answers are out of date by then.
    usleep(150000);
    nvmlReturn_t result = NVML(nvmlDeviceGetMemoryInfo, device(0), &memory);
    _exit(write(pipes[1], &memory, sizeof memory) == sizeof memory ? (int)result : 99);
  }
  waitpid(forked, &status, 0);
  ssize_t got = read(pipes[0], &memory, sizeof memory);
  printf("child %d %llu\n", got == sizeof memory ? WEXITSTATUS(status) : -1, memory.total);
}

int main(int count, char **values) {
  char line[256], word[32];
  library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library || count < 2) fail("usage: nvml KERNELS.ptx (%s)", library ? "" : dlerror());
  while (fgets(line, sizeof line, stdin)) {
    unsigned long long number = 0;
    if (sscanf(line, "%31s %llu", word, &number) < 1) continue;
    if (strcmp(word, "pid") == 0) printf("pid %d\n", getpid());
    if (strcmp(word, "init") == 0) init();
    if (strcmp(word, "gpu") == 0) gpu((unsigned)number);
    if (strcmp(word, "sensors") == 0) sensors((unsigned)number);
    if (strcmp(word, "listen") == 0) printf("listen %d\n", listen_to((unsigned)number));
    if (strcmp(word, "event") == 0) event((unsigned)number);
    if (strcmp(word, "own") == 0) own((unsigned)number);
    if (strcmp(word, "fabric") == 0) fabric((unsigned)number);
    if (strcmp(word, "walk") == 0) walk();
    if (strcmp(word, "cuda") == 0) printf("cuda %d\n", cuda(values[1], number));
    if (strcmp(word, "spin") == 0) printf("spin %d\n", spin((long long)number));
    if (strcmp(word, "child") == 0) child();
    fflush(stdout);
  }
  return 0;
}
