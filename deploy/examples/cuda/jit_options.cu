// SPDX-License-Identifier: Apache-2.0
// PTX compiled at run time with options: logs and their lengths, errors with their line, and as a library.
#include <algorithm>
#include <string>

#include "driver_entry.h"

static const char *text = R"(.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .u32 factor = 5;
.visible .entry scale(.param .u64 data)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd0, [data];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %rd1, %r0, 4;
  add.u64 %rd0, %rd0, %rd1;
  ld.global.u32 %r1, [%rd0];
  ld.global.u32 %r2, [factor];
  mul.lo.u32 %r1, %r1, %r2;
  st.global.u32 [%rd0], %r1;
  ret;
}
)";

static void require_scaled(int *data, const std::vector<int> &values, int factor) {
  std::vector<int> expected;
  for (int value : values) expected.push_back(value * factor);
  require_equal(host_copy(data, expected.size()), expected);
}

int main() {
  CHECK(cudaFree(nullptr));
  auto load = ENTRY(cuModuleLoadDataEx);
  auto unload = ENTRY(cuModuleUnload);
  auto function_of = ENTRY(cuModuleGetFunction);
  auto launch = ENTRY(cuLaunchKernel);
  std::vector<int> values(64);
  for (int i = 0; i < 64; i++) values[i] = i - 20;
  int *data = device_copy(values);
  void *arguments[] = {&data};

  char info[512] = "", error[512] = "";
  CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
      CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_LOG_VERBOSE,
      CU_JIT_MAX_REGISTERS, CU_JIT_OPTIMIZATION_LEVEL, CU_JIT_GENERATE_LINE_INFO,
      CU_JIT_TARGET_FROM_CUCONTEXT, CU_JIT_WALL_TIME};
  const int count = sizeof options / sizeof *options;
  void *option_values[count] = {info, reinterpret_cast<void *>(sizeof info), error,
      reinterpret_cast<void *>(sizeof error), reinterpret_cast<void *>(1),
      reinterpret_cast<void *>(32), reinterpret_cast<void *>(4), reinterpret_cast<void *>(1),
      nullptr, nullptr};
  CUmodule module;
  CUfunction function;
  DRIVER(load(&module, text, count, options, option_values));
  REQUIRE(error[0] == 0, "there is an error: %s", error);
  REQUIRE(reinterpret_cast<size_t>(option_values[3]) == 0, "the error log has %zu bytes",
      reinterpret_cast<size_t>(option_values[3]));
  DRIVER(function_of(&function, module, "scale"));
  DRIVER(launch(function, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
  require_scaled(data, values, 5);
  DRIVER(unload(module));

  // The error names the line; a short buffer gets as much as it holds, with its end.
  std::string broken = text;
  broken.replace(broken.find("mul.lo"), 6, "mulllo");
  const std::string line = "line " + std::to_string(std::count(text, std::strstr(text, "mul.lo"), '\n') + 1);
  for (size_t size : {sizeof error, size_t(20)}) {
    std::memset(error, 'x', sizeof error);
    option_values[1] = reinterpret_cast<void *>(sizeof info);
    option_values[3] = reinterpret_cast<void *>(size);
    CUresult result = load(&module, broken.c_str(), 4, options, option_values);
    REQUIRE(result == CUDA_ERROR_INVALID_PTX, "broken PTX gives %d", result);
    size_t length = reinterpret_cast<size_t>(option_values[3]);
    size_t end = std::find(error, error + sizeof error, '\0') - error;
    REQUIRE(end < size && length > 0 && length <= size, "%zu bytes of %zu, length %zu", end, size, length);
    REQUIRE(size < 100 || std::strstr(error, line.c_str()), "\"%s\" does not name %s", error, line.c_str());
  }
  // Without any option the result alone tells.
  REQUIRE(load(&module, broken.c_str(), 0, nullptr, nullptr) == CUDA_ERROR_INVALID_PTX,
      "broken PTX was loaded");
  std::string newer = text;
  newer.replace(newer.find("7.0"), 3, "97.0");
  REFUSED(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, load(&module, newer.c_str(), 0, nullptr, nullptr));

  CUlibrary library;
  CUkernel kernel;
  CUdeviceptr factor;
  size_t bytes;
  DRIVER(ENTRY(cuLibraryLoadData)(&library, text, options, option_values, 0, nullptr, nullptr, 0));
  DRIVER(ENTRY(cuLibraryGetKernel)(&kernel, library, "scale"));
  DRIVER(ENTRY(cuKernelGetFunction)(&function, kernel));
  DRIVER(ENTRY(cuLibraryGetGlobal)(&factor, &bytes, library, "factor"));
  REQUIRE(bytes == 4, "the factor has %zu bytes", bytes);
  int three = 3;
  CHECK(cudaMemcpy(reinterpret_cast<void *>(factor), &three, 4, cudaMemcpyHostToDevice));
  DRIVER(launch(function, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
  // A kernel of a library can be launched as it is, too.
  DRIVER(launch(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 64, 1, 1, 0, nullptr, arguments,
                   nullptr));
  require_scaled(data, values, 5 * 3 * 3);
  DRIVER(ENTRY(cuLibraryUnload)(library));
  CHECK(cudaFree(data));
  return ok("%d options, errors with their line", count);
}
