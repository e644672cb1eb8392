// SPDX-License-Identifier: Apache-2.0
// Measures calls that depend on the distance to a GPU: many small copies, and managed memory.
//
// Usage: far_calls copies|managed
#include "../examples/driver-api/driver.h"
#include "figures.h"

enum { COPY_BYTES = 1 << 10, POSTED_COPIES = 200000, WAITED_COPIES = 500 };
enum { MANAGED_BYTES = 1 << 16, MANAGED_ROUNDS = 200, ATTACH_GLOBAL = 1 };

static const char PTX[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry touch(.param .u64 a)\n{\n.reg .b64 %rd<2>;\n.reg .b32 %r<2>;\n"
    "ld.param.u64 %rd1, [a];\ncvta.to.global.u64 %rd1, %rd1;\nld.global.u32 %r1, [%rd1];\n"
    "add.u32 %r1, %r1, 1;\nst.global.u32 [%rd1], %r1;\nret;\n}\n";

static void measure_copies(void) {
  CUdeviceptr memory;
  void *pinned;
  static double micros[WAITED_COPIES];
  CHECK(cuMemAlloc(&memory, COPY_BYTES));
  CHECK(cuMemAllocHost(&pinned, COPY_BYTES));
  CHECK(cuMemcpyDtoH(pinned, memory, COPY_BYTES));
  double start = now_seconds();
  for (int i = 0; i < POSTED_COPIES; i++) {
    CHECK(cuMemcpyDtoHAsync(pinned, memory, COPY_BYTES, NULL));
  }
  CHECK(cuCtxSynchronize());
  figure("d2h_1KiB_posted", POSTED_COPIES / (now_seconds() - start), "per_s");
  for (int i = 0; i < WAITED_COPIES; i++) {
    start = now_seconds();
    CHECK(cuMemcpyDtoH(pinned, memory, COPY_BYTES));
    micros[i] = (now_seconds() - start) * 1e6;
  }
  figure("d2h_1KiB_p50", median(micros, WAITED_COPIES), "us");
}

/** The program and the kernel change a page in turn. */
static void measure_managed(void) {
  CUmodule module;
  CUfunction touch;
  CUdeviceptr memory;
  static double micros[MANAGED_ROUNDS];
  CHECK(cuModuleLoadData(&module, PTX));
  CHECK(cuModuleGetFunction(&touch, module, "touch"));
  CHECK(cuMemAllocManaged(&memory, MANAGED_BYTES, ATTACH_GLOBAL));
  volatile unsigned *value = (volatile unsigned *)(uintptr_t)memory;
  void *parameters[] = {&memory};
  for (int i = 0; i < MANAGED_ROUNDS; i++) {
    double start = now_seconds();
    *value += 1;
    CHECK(cuLaunchKernel(touch, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    CHECK(cuCtxSynchronize());
    *value += 1;
    micros[i] = (now_seconds() - start) * 1e6;
  }
  figure("managed_round_p50", median(micros, MANAGED_ROUNDS), "us");
}

int main(int count, char **words) {
  const char *what = count == 2 ? words[1] : "";
  CUdevice device;
  CUcontext context;
  if (strcmp(what, "copies") != 0 && strcmp(what, "managed") != 0) {
    fprintf(stderr, "usage: far_calls copies|managed\n");
    return 2;
  }
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  figures_as_json = 1;
  if (!strcmp(what, "copies")) {
    measure_copies();
  } else {
    measure_managed();
  }
  figures_end();
  return 0;
}
