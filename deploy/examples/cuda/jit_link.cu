// SPDX-License-Identifier: Apache-2.0
// PTX linked at run time: parts that call each other, their logs, names that are missing or there twice.
#include <string>

#include "driver_entry.h"

static const char *head = ".version 6.5\n.target sm_60\n.address_size 64\n";

static const char *kernel_text = R"(
.extern .func (.param .b32 r) twist (.param .b32 a);
.extern .global .u32 factor;
.global .u32 mine = 5;
.visible .entry twist_all(.param .u64 data, .param .u32 count)
{
  .param .b32 in;
  .param .b32 back;
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .b64 %rd<4>;
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.s32 %r0, %r0, %r1, %r2;
  ld.param.u32 %r3, [count];
  setp.ge.u32 %p, %r0, %r3;
  @%p ret;
  ld.param.u64 %rd0, [data];
  mul.wide.u32 %rd1, %r0, 4;
  add.s64 %rd0, %rd0, %rd1;
  ld.global.u32 %r4, [%rd0];
  st.param.b32 [in], %r4;
  call.uni (back), twist, (in);
  ld.param.b32 %r5, [back];
  ld.global.u32 %r6, [factor];
  ld.global.u32 %r7, [mine];
  mad.lo.s32 %r5, %r5, %r6, %r7;
  st.global.u32 [%rd0], %r5;
  ret;
}
)";

static const char *function_text = R"(
.visible .global .u32 factor = 3;
.global .u32 mine = 100;
.visible .func (.param .b32 r) twist (.param .b32 a)
{
  .reg .b32 %r<3>;
  ld.param.b32 %r0, [a];
  ld.global.u32 %r1, [mine];
  add.s32 %r2, %r0, %r1;
  st.param.b32 [r], %r2;
  ret;
}
)";

static CUresult add(CUlinkState state, const char *text, const char *name) {
  std::string whole = std::string(head) + text;
  return ENTRY(cuLinkAddData)(state, CU_JIT_INPUT_PTX, const_cast<char *>(whole.c_str()),
      whole.size() + 1, name, 0, nullptr, nullptr);
}

int main() {
  CHECK(cudaFree(nullptr));
  char info[1024] = "", error[1024] = "";
  CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
      CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {info, reinterpret_cast<void *>(sizeof info), error,
      reinterpret_cast<void *>(sizeof error)};
  CUlinkState state;
  DRIVER(ENTRY(cuLinkCreate)(4, options, values, &state));
  DRIVER(add(state, kernel_text, "kernel.ptx"));
  DRIVER(add(state, function_text, "function.ptx"));
  void *image;
  size_t bytes;
  DRIVER(ENTRY(cuLinkComplete)(state, &image, &bytes));
  CUmodule module;
  CUfunction function;
  DRIVER(ENTRY(cuModuleLoadData)(&module, image));
  DRIVER(ENTRY(cuLinkDestroy)(state));
  DRIVER(ENTRY(cuModuleGetFunction)(&function, module, "twist_all"));

  const int count = 300;
  std::vector<int> numbers(count), expected(count);
  for (int i = 0; i < count; i++) {
    numbers[i] = 7 * i;
    expected[i] = (numbers[i] + 100) * 3 + 5;
  }
  int *data = device_copy(numbers), length = count;
  void *arguments[] = {&data, &length};
  DRIVER(ENTRY(cuLaunchKernel)(function, 3, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr));
  require_equal(host_copy(data, count), expected);
  DRIVER(ENTRY(cuModuleUnload)(module));

  void *again[] = {info, reinterpret_cast<void *>(sizeof info), error,
      reinterpret_cast<void *>(sizeof error)};
  DRIVER(ENTRY(cuLinkCreate)(4, options, again, &state));
  DRIVER(add(state, kernel_text, "kernel.ptx"));
  REQUIRE(ENTRY(cuLinkComplete)(state, &image, &bytes) != CUDA_SUCCESS, "a name is missing");
  REQUIRE(std::strstr(error, "twist"), "the log does not name what is missing: %s", error);
  DRIVER(ENTRY(cuLinkDestroy)(state));

  DRIVER(ENTRY(cuLinkCreate)(0, nullptr, nullptr, &state));
  REQUIRE(add(state, "\nnonsense\n", "bad.ptx") == CUDA_ERROR_INVALID_PTX, "nonsense is PTX");
  DRIVER(ENTRY(cuLinkDestroy)(state));
  CHECK(cudaFree(data));
  return ok("%zu bytes linked", bytes);
}
