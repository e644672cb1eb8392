// SPDX-License-Identifier: Apache-2.0
// Names the devices that a program sees, a line each.
#include <dlfcn.h>
#include <stdio.h>

static void *driver;

#define CALL(name, ...) \
  do { \
    int (*call)() = (int (*)())dlsym(driver, #name); \
    int result = call ? call(__VA_ARGS__) : -1; \
    if (result) { \
      fprintf(stderr, #name " gave %d\n", result); \
      return 1; \
    } \
  } while (0)

int main(void) {
  int count = 0;
  char name[256];
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  CALL(cuInit, 0);
  CALL(cuDeviceGetCount, &count);
  for (int device = 0; device < count; device++) {
    CALL(cuDeviceGetName, name, (int)sizeof name, device);
    printf("device %d: %s\n", device, name);
  }
  return 0;
}
