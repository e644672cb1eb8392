// SPDX-License-Identifier: Apache-2.0
// Many modules of PTX text, written at run time and loaded through the driver's own entry points.
#include <string>

#include "driver_entry.h"

static std::string module_text(int number) {
  std::string n = std::to_string(number);
  return ".version 7.0\n.target sm_70\n.address_size 64\n"
         ".visible .global .align 4 .u32 bias = " + n + ";\n"
         ".visible .entry kernel_" + n + "(.param .u64 out, .param .u32 x)\n{\n"
         ".reg .b32 %r<6>;\n.reg .b64 %rd<4>;\n"
         "ld.param.u64 %rd1, [out];\ncvta.to.global.u64 %rd1, %rd1;\n"
         "ld.param.u32 %r1, [x];\nmov.u32 %r2, %tid.x;\n"
         "ld.global.u32 %r3, [bias];\n"
         "mad.lo.u32 %r4, %r1, " + n + ", %r3;\nadd.u32 %r4, %r4, %r2;\n"
         "mul.wide.u32 %rd2, %r2, 4;\nadd.u64 %rd1, %rd1, %rd2;\n"
         "st.global.u32 [%rd1], %r4;\nret;\n}\n";
}

int main() {
  const int modules = 48;
  CHECK(cudaFree(nullptr));
  auto load = ENTRY(cuModuleLoadDataEx);
  auto unload = ENTRY(cuModuleUnload);
  auto function_of = ENTRY(cuModuleGetFunction);
  auto global_of = ENTRY(cuModuleGetGlobal);
  auto launch = ENTRY(cuLaunchKernel);
  std::vector<CUmodule> loaded(modules);
  unsigned *out;
  CHECK(cudaMalloc(&out, 32 * sizeof(unsigned)));
  for (int i = 0; i < modules; i++) {
    DRIVER(load(&loaded[i], module_text(i).c_str(), 0, nullptr, nullptr));
  }
  for (int i = 0; i < modules; i++) {
    std::string name = "kernel_" + std::to_string(i);
    CUfunction function;
    DRIVER(function_of(&function, loaded[i], name.c_str()));
    CUdeviceptr bias;
    size_t bytes;
    DRIVER(global_of(&bias, &bytes, loaded[i], "bias"));
    REQUIRE(bytes == 4, "bias has %zu bytes", bytes);
    unsigned new_bias = 1000u + i;
    CHECK(cudaMemcpy(reinterpret_cast<void *>(bias), &new_bias, 4, cudaMemcpyHostToDevice));
    unsigned x = 7;
    void *arguments[] = {&out, &x};
    DRIVER(launch(function, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
    std::vector<unsigned> result = host_copy(out, 32);
    for (unsigned lane = 0; lane < 32; lane++) {
      unsigned expected = x * i + new_bias + lane;
      REQUIRE(result[lane] == expected, "module %d gives %u, not %u", i, result[lane], expected);
    }
  }
  CUfunction missing;
  REQUIRE(function_of(&missing, loaded[0], "kernel_1") == CUDA_ERROR_NOT_FOUND,
      "a function of another module was found");
  for (CUmodule module : loaded) {
    DRIVER(unload(module));
  }

  char log[2048] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  CUmodule broken;
  std::string text = module_text(1);
  text.replace(text.find("mad.lo"), 6, "mud.lo");
  CUresult result = load(&broken, text.c_str(), 2, options, values);
  REQUIRE(result == CUDA_ERROR_INVALID_PTX, "broken PTX gives %d", result);
  REQUIRE(log[0] != 0, "broken PTX leaves an empty log");
  CHECK(cudaFree(out));
  return ok("%d modules", modules);
}
