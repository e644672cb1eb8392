// SPDX-License-Identifier: Apache-2.0
// Adds two vectors on the first GPU and checks every element. Usage: vector_add [kernels.ptx]
#include "driver.h"

int main(int argc, char **argv) {
  const int count = 1 << 20;
  const size_t bytes = (size_t)count * sizeof(float);
  CUmodule module = driver_start(argc > 1 ? argv[1] : "kernels.ptx");
  char name[256];
  size_t total_bytes;
  int version;
  CHECK(cuDeviceGetName(name, sizeof name, 0));
  CHECK(cuDeviceTotalMem(&total_bytes, 0));
  CHECK(cuDriverGetVersion(&version));
  printf("device: %s, %zu MiB, CUDA %d.%d\n", name, total_bytes >> 20, version / 1000,
         version % 1000 / 10);

  float *a = malloc(bytes), *b = malloc(bytes), *c = malloc(bytes);
  if (a == NULL || b == NULL || c == NULL) {
    fail("no memory for three vectors");
  }
  for (int i = 0; i < count; i++) {
    a[i] = (float)i / 3;
    b[i] = (float)(count - i) / 7;
    c[i] = -1;
  }
  CUfunction add;
  CHECK(cuModuleGetFunction(&add, module, "add"));
  CUdeviceptr device_a, device_b, device_c;
  CHECK(cuMemAlloc(&device_a, bytes));
  CHECK(cuMemAlloc(&device_b, bytes));
  CHECK(cuMemAlloc(&device_c, bytes));
  CHECK(cuMemcpyHtoD(device_a, a, bytes));
  CHECK(cuMemcpyHtoD(device_b, b, bytes));
  void *parameters[] = {&device_a, &device_b, &device_c, (void *)&count};
  CHECK(cuLaunchKernel(add, (count + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
  CHECK(cuMemcpyDtoH(c, device_c, bytes));
  for (int i = 0; i < count; i++) {
    if (c[i] != a[i] + b[i]) {
      fail("element %d is %.9g, not %.9g", i, c[i], a[i] + b[i]);
    }
  }
  CHECK(cuMemFree(device_a));
  CHECK(cuMemFree(device_b));
  CHECK(cuMemFree(device_c));
  CHECK(cuModuleUnload(module));
  CHECK(cuDevicePrimaryCtxRelease(0));
  printf("vector_add: OK %d elements\n", count);
  return 0;
}
