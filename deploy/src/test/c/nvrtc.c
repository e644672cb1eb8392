// SPDX-License-Identifier: Apache-2.0
// Compiles a kernel with NVRTC for the GPU's real architecture, loads the code and checks what it computes.
// NVRTC is opened by the name that the first argument gives; with -DNVRTC_LINKED it is linked to it.
#include "../../../examples/driver-api/driver.h"

enum { COUNT = 1000, CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76 };

// name, parameters
#define NVRTC_FUNCTIONS(X) \
  X(nvrtcCreateProgram, (void **program, const char *text, const char *name, int headers, \
                         const char *const *header_texts, const char *const *header_names)) \
  X(nvrtcCompileProgram, (void *program, int options, const char *const *option)) \
  X(nvrtcGetCUBINSize, (void *program, size_t *bytes)) \
  X(nvrtcGetCUBIN, (void *program, char *code)) \
  X(nvrtcDestroyProgram, (void **program))

#ifdef NVRTC_LINKED
#define DECLARE(name, parameters) extern int name parameters;
NVRTC_FUNCTIONS(DECLARE)
static void find_nvrtc(const char *path) { (void)path; }
#else
#define DECLARE(name, parameters) static int(*name) parameters;
NVRTC_FUNCTIONS(DECLARE)
static void find_nvrtc(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fail("%s", dlerror());
  }
#define FIND(name, parameters) *(void **)&name = dlsym(library, #name);
  NVRTC_FUNCTIONS(FIND)
}
#endif

static const char text[] =
    "extern \"C\" __global__ void scale(float *values, float factor, int count) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < count) values[i] *= factor;\n"
    "}\n";

int main(int argc, char **argv) {
  find_nvrtc(argc > 1 ? argv[1] : "libnvrtc.so");
  int major, minor, count = COUNT;
  float values[COUNT], factor = 3;
  CUcontext context;
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuDeviceGetAttribute(&major, CAPABILITY_MAJOR, 0));
  CHECK(cuDeviceGetAttribute(&minor, CAPABILITY_MINOR, 0));
  char architecture[64];
  snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%d%d", major, minor);
  const char *options[] = {architecture};
  void *program;
  size_t bytes;
  if (nvrtcCreateProgram(&program, text, "scale.cu", 0, NULL, NULL) ||
      nvrtcCompileProgram(program, 1, options) || nvrtcGetCUBINSize(program, &bytes)) {
    fail("NVRTC does not compile");
  }
  char *code = malloc(bytes);
  if (code == NULL || nvrtcGetCUBIN(program, code) || nvrtcDestroyProgram(&program)) {
    fail("NVRTC gives no code");
  }
  CUmodule module;
  CUfunction scale;
  CUdeviceptr device;
  CHECK(cuModuleLoadData(&module, code));
  CHECK(cuModuleGetFunction(&scale, module, "scale"));
  for (int i = 0; i < COUNT; i++) {
    values[i] = (float)i;
  }
  CHECK(cuMemAlloc(&device, sizeof values));
  CHECK(cuMemcpyHtoD(device, values, sizeof values));
  void *parameters[] = {&device, &factor, &count};
  CHECK(cuLaunchKernel(scale, (COUNT + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL));
  CHECK(cuMemcpyDtoH(values, device, sizeof values));
  for (int i = 0; i < COUNT; i++) {
    if (values[i] != 3.0f * (float)i) {
      fail("element %d is %.9g", i, values[i]);
    }
  }
  printf("nvrtc: OK %zu bytes for sm_%d%d\n", bytes, major, minor);
  return 0;
}
