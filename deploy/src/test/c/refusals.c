// SPDX-License-Identifier: Apache-2.0
// Has code refused and a kernel fault, and prints the result codes and the error log of the JIT compiler. The argument
// says how: "invalid", "unsupported", "fault", "escape" (a control character in the PTX) or "flood" (many invalid images).
#include "../../../examples/driver-api/driver.h"

enum { ERROR_LOG_BUFFER = 5, ERROR_LOG_BUFFER_SIZE_BYTES = 6, FLOOD = 200 };

#define HEAD \
  ".version 7.0\n" \
  ".target sm_75\n" \
  ".address_size 64\n"

static const char invalid[] = HEAD
    ".visible .entry misspelt()\n"
    "{\n"
    "  rett;\n"
    "}\n";

static const char escape[] = HEAD
    ".visible .entry coloured()\n"
    "{\n"
    "  \x1b[31m;\n"
    "}\n";

static const char unsupported[] = HEAD
    ".visible .entry single_bits()\n"
    "{\n"
    "  .reg .b32 %r<5>;\n"
    "  mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc {%r1, %r2}, {%r3}, {%r4}, {%r1, %r2};\n"
    "  ret;\n"
    "}\n";

static const char fault[] = HEAD
    ".visible .entry write_far()\n"
    "{\n"
    "  .reg .b64 %rd<2>;\n"
    "  mov.u64 %rd1, 0x40000000000;\n"
    "  st.global.u32 [%rd1], 1;\n"
    "  ret;\n"
    "}\n";

static CUresult load(CUmodule *module, const char *text) {
  char log[1024] = "";
  int options[] = {ERROR_LOG_BUFFER, ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, (void *)(uintptr_t)sizeof log};
  CUresult result = cuModuleLoadDataEx(module, text, 2, options, values);
  if (log[0]) {
    printf("JIT log: %s\n", log);
  }
  return result;
}

static void launch_twice(const char *text, const char *name) {
  CUmodule module;
  CUfunction function;
  CHECK(load(&module, text));
  CHECK(cuModuleGetFunction(&function, module, name));
  for (int i = 0; i < 2; i++) {
    CUresult result = cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    printf("launch %d\n", result != CUDA_SUCCESS ? result : cuCtxSynchronize());
  }
}

static void flood(void) {
  for (int i = 0; i < FLOOD; i++) {
    char text[256];
    CUmodule module;
    snprintf(text, sizeof text, HEAD ".visible .entry kernel%d()\n{\n  rett;\n}\n", i);
    if (cuModuleLoadData(&module, text) == CUDA_SUCCESS) {
      fail("invalid PTX was loaded");
    }
  }
}

int main(int argc, char **argv) {
  const char *kind = argc > 1 ? argv[1] : "";
  CUcontext context;
  CUmodule module;
  CHECK(cuInit(0));
  CHECK(cuCtxCreate(&context, 0, 0));
  if (strcmp(kind, "invalid") == 0) {
    printf("load %d\n", load(&module, invalid));
    printf("load %d\n", load(&module, invalid));
  } else if (strcmp(kind, "escape") == 0) {
    printf("load %d\n", load(&module, escape));
  } else if (strcmp(kind, "unsupported") == 0) {
    launch_twice(unsupported, "single_bits");
  } else if (strcmp(kind, "fault") == 0) {
    launch_twice(fault, "write_far");
  } else if (strcmp(kind, "flood") == 0) {
    flood();
  } else {
    fail("no such kind: %s", kind);
  }
  return 0;
}
