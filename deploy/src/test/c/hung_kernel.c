// SPDX-License-Identifier: Apache-2.0
// Launches a kernel that never ends, says so, and waits for the end of its input.
#include <unistd.h>

#include "../../../examples/driver-api/driver.h"

static const char image[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                            ".visible .entry hang() {\nagain:\n  bra again;\n}\n";

int main(void) {
  CUcontext context;
  CUmodule module;
  CUfunction function;
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, image));
  CHECK(cuModuleGetFunction(&function, module, "hang"));
  CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
  CUevent event;
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CHECK(cuEventRecord(event, NULL));
  usleep(100000);
  puts("hangs");
  fflush(stdout);
  getchar();
  // Nobody waits for it: a context with work that does not end cannot be destroyed.
  _exit(0);
}
