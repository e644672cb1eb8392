// SPDX-License-Identifier: Apache-2.0
// Answers of a driver library that is asked for entry points, which takes no GPU: for each "NAME VERSION FLAGS" on
// standard input a line "NAME VERSION FLAGS STATUS SYMBOL". The symbol is `-` if there is none, and `?` if the address
// is no symbol of the library. Usage: entry_points LIBRARY
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

typedef int get_proc_address(const char *, void **, int, uint64_t, int *);

static const char *symbol_of(void *address) {
  Dl_info found;
  if (!address) return "-";
  return dladdr(address, &found) && found.dli_saddr == address ? found.dli_sname : "?";
}

int main(int count, char **arguments) {
  void *library = count == 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  get_proc_address *get = library ? (get_proc_address *)dlsym(library, "cuGetProcAddress_v2") : NULL;
  if (!get) {
    fprintf(stderr, "entry_points: %s\n", count == 2 ? dlerror() : "no library");
    return 1;
  }
  char name[128];
  int version;
  unsigned flags;
  while (scanf("%127s %d %u", name, &version, &flags) == 3) {
    void *address = NULL;
    int status = -1, result = get(name, &address, version, flags, &status);
    if (result) {
      fprintf(stderr, "entry_points: %s of CUDA %d with flags %u is %d\n", name, version, flags, result);
      return 1;
    }
    printf("%s %d %u %d %s\n", name, version, flags, status, symbol_of(address));
  }
  return 0;
}
