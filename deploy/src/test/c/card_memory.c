// SPDX-License-Identifier: Apache-2.0
// Names the memory that a card's driver has given out, in all and to each process, in bytes.
// Usage: card_memory LIBNVML
#include <dlfcn.h>
#include <stdio.h>

enum { MAX_PROCESSES = 64 };

int main(int count, char **arguments) {
  struct {
    unsigned pid;
    unsigned long long bytes;
    unsigned instances[2];
  } processes[MAX_PROCESSES];
  struct {
    unsigned long long total, free, used;
  } memory;
  unsigned known = MAX_PROCESSES;
  void *device, *library = count == 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
  if (!library) {
    fprintf(stderr, "usage: card_memory LIBNVML; %s\n", count == 2 ? dlerror() : "");
    return 2;
  }
  int (*init)(void), (*by_index)(unsigned, void **), (*info)(void *, void *), (*running)(void *, unsigned *, void *);
  *(void **)&init = dlsym(library, "nvmlInit_v2");
  *(void **)&by_index = dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
  *(void **)&info = dlsym(library, "nvmlDeviceGetMemoryInfo");
  *(void **)&running = dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v3");
  if (init() || by_index(0, &device) || info(device, &memory) || running(device, &known, processes)) {
    fputs("the library does not tell\n", stderr);
    return 1;
  }
  printf("card %llu of %llu\n", memory.used, memory.total);
  for (unsigned i = 0; i < known; i++) printf("process %u %llu\n", processes[i].pid, processes[i].bytes);
  return 0;
}
