// SPDX-License-Identifier: Apache-2.0
// A kernel writes far outside its memory: every later call returns that error. Usage: illegal_address [kernels.ptx]
#include "driver.h"

static void expect_sticky(CUresult result, const char *call) {
  if (result != CUDA_ERROR_ILLEGAL_ADDRESS) {
    fail("%s is %d, not CUDA_ERROR_ILLEGAL_ADDRESS", call, result);
  }
}

#define STICKY(call) expect_sticky((call), #call)

int main(int argc, char **argv) {
  CUmodule module = driver_start(argc > 1 ? argv[1] : "kernels.ptx");
  CUfunction write_at;
  CHECK(cuModuleGetFunction(&write_at, module, "write_at"));
  CUdeviceptr values, more;
  CHECK(cuMemAlloc(&values, 64));
  long long distance = 3;
  void *parameters[] = {&values, &distance};
  CHECK(cuLaunchKernel(write_at, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
  CHECK(cuCtxSynchronize());
  distance = 1LL << 40;
  CHECK(cuLaunchKernel(write_at, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
  STICKY(cuCtxSynchronize());
  int host;
  STICKY(cuMemcpyDtoH(&host, values, sizeof host));
  STICKY(cuMemAlloc(&more, 64));
  STICKY(cuStreamSynchronize(NULL));
  STICKY(cuCtxSynchronize());
  printf("illegal_address: OK sticky\n");
  return 0;
}
